"""Names that are misspelled: columns are found, and rows joined, by the distance of vectors.

Run it with ``python examples/similar_names.py``. It needs no Spark, and downloads nothing: the vectors are made of
character n-grams, which need no training.
"""

import tempfile
from pathlib import Path

import pandas as pd

import dfjoin

HERE = Path(__file__).parent
MISSPELLED = {
    "visited": ["Switzerlnd", "Germny", "Portugall", "Argentinia", "Icelnd", "South Afrika", "New Zeeland", "Japan"]
}


def main() -> None:
    """Find what joins with misspelled countries, and join the best table."""
    index = Path(tempfile.mkdtemp()) / "example.dfjoin"
    lake = dfjoin.build_lake(HERE / "lake", index, engine="inline", embedder="ngrams", progress=False)
    trips = pd.DataFrame(MISSPELLED)

    print("By equal values:\n")
    print(trips.discover_joinable("visited", lake, k=3))
    hits = trips.discover_joinable("visited", lake, mode="embedding", radius=0.4, k=3)
    print("\nBy values that lie near:\n")
    print(hits)
    print(hits.explain(0))
    print("\nWhich value is near which:\n")
    print(hits.pairs(0).round(3).to_string(index=False))

    wide = trips.auto_join(hits.iloc[[0]])
    print("\nJoined:\n")
    print(dfjoin.report(wide))
    print(wide.to_string(index=False))


if __name__ == "__main__":
    main()
