"""
Auto-Join: cases that equality cannot join
==========================================

Auto-Join (Zhu, He and Chaudhuri, VLDB 2017) joins tables by programs that it learns from them. The paper's
web tables carry no licence, so these cases are made of the example lake in the ways that the paper's are:
names turned round, ids cut out, parts put together. The last one needs knowledge that no program has, and is left
alone. Rows are shuffled, and the columns are not named.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin  # noqa: F401 (brings auto_join to frames)

folder = "../../examples/lake/"
read = {
    name: pd.read_csv(folder + name, keep_default_na=False, dtype=str)
    for name in (
        "usa/presidents.csv",
        "usa/states.csv",
        "transport/airports.csv",
        "geo/capitals.csv",
        "culture/composers.csv",
    )
}
presidents, states, airports, capitals, composers = read.values()
areas = pd.read_csv(folder + "geo/countries.csv", keep_default_na=False, dtype=str)[["iso3", "area_km2"]]


def turned(name):
    """Write a name as *last, first*."""
    first, _, last = name.rpartition(" ")
    return f"{last}, {first}"


cases = {
    "president: last, first": (presidents["president"].map(turned), presidents, "president"),
    "state (postal)": (states["state"] + " (" + states["postal"] + ")", states, "postal"),
    "capital, state": (states["capital"] + ", " + states["state"], states, "capital"),
    "airport [IATA]": ("[" + airports["iata"] + "] " + airports["airport"], airports, "iata"),
    "city in country": (capitals["city"] + " in " + capitals["country"], capitals, "city"),
    "composer: INITIAL. last": (
        composers["composer"].str[0] + ". " + composers["composer"].str.split().str[-1],
        composers,
        "composer",
    ),
    "capital: its area": (capitals["city"], areas, "area_km2"),
}
rows = []
for name, (made, table, key) in cases.items():
    left = pd.DataFrame({"text": made, "truth": table[key]}).sample(frac=1, random_state=3, ignore_index=True)
    wide = left[["text"]].auto_join(table, aggregate=None, on_no_match="ignore")
    joined = wide[key].notna() if key in wide else pd.Series(False, index=wide.index)
    right = joined & (wide.get(key) == left["truth"])
    rows.append((name, right.sum() / joined.sum() if joined.any() else float("nan"), right.sum() / len(left)))
result = pd.DataFrame(rows, columns=["case", "precision", "recall"]).set_index("case")

_, ax = pyplot.subplots(figsize=(7, 3.2), layout="constrained")
place = range(len(result))
ax.barh([p + 0.2 for p in place], result["precision"], height=0.35, color="#1f4e79", label="precision")
ax.barh(
    [p - 0.2 for p in place],
    result["recall"],
    height=0.35,
    facecolor="white",
    edgecolor="#52606d",
    hatch="//",
    label="recall",
)
ax.set_yticks(list(place), result.index)
ax.set_xlim(0, 1)
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)

# %%
result
