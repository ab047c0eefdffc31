"""
The nearest capital of each harbour
===================================

Two columns of coordinates are one key: rows join the nearest place within a radius.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin

capitals = pd.read_csv("../../examples/lake/geo/capitals.csv")
capitals = capitals.assign(lat=capitals["latitude"], lon=capitals["longitude"])
harbours = pd.DataFrame(
    {
        "harbour": ["Rotterdam", "Hamburg", "Genoa", "Piraeus", "Barcelona", "Gdansk", "Bergen", "Porto"],
        "latitude": [51.95, 53.54, 44.40, 37.94, 41.35, 54.40, 60.39, 41.15],
        "longitude": [4.14, 9.99, 8.92, 23.64, 2.16, 18.67, 5.32, -8.63],
    }
)
near = harbours.auto_join(
    capitals.rename(columns={"latitude": "y", "longitude": "x"}),
    on=["latitude", "longitude"],
    right_on=["y", "x"],
    mode="embedding",
    radius=600,
    radius_unit="km",
)
print(dfjoin.report(near))

_, ax = pyplot.subplots(figsize=(8, 4), layout="constrained")
ax.plot(capitals["longitude"], capitals["latitude"], "s", color="#9aa5b1", markersize=4, label="capitals")
ax.plot(near["longitude"], near["latitude"], "o", color="#1f4e79", label="harbours")
for row in near.dropna(subset="city").itertuples():
    ax.plot([row.longitude, row.lon], [row.latitude, row.lat], color="#1f4e79", linewidth=1)
    ax.annotate(
        f"{row.harbour} → {row.city}", (row.longitude, row.latitude), (4, 4), textcoords="offset points", fontsize=7
    )
ax.set(xlabel="longitude", ylabel="latitude", xlim=(-12, 30), ylim=(35, 64))
ax.legend(loc="upper left", frameon=False)
