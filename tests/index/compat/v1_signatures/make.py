"""Made the index beside this file, once, with dfjoin 0.1.0; later versions have to compare its signatures as they are."""

import sys
from pathlib import Path

import pandas as pd

import dfjoin


def main(index: Path) -> None:
    """Build, add: two segments with signatures; the sets of the large columns are not kept."""
    options = {"engine": "inline", "progress": False}
    settings = {"permutations": 32, "signature_min": 10, "keep_sets": False}
    words = [f"word {i}" for i in range(60)]
    frames = {"large": pd.DataFrame({"w": words, "n": range(60)}), "small": pd.DataFrame({"w": words[:4]})}
    lake = dfjoin.build_lake(frames, index, settings=settings, **options)
    lake.add({"more": pd.DataFrame({"w": words[20:50]})}, **options)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
