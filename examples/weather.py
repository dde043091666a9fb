# glovebox: --file examples/data/seattle-weather.csv --out results --summary
# SPDX-License-Identifier: Apache-2.0
"""Four years of Seattle's weather: when does it rain, and is "sun" warm?"""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

weather = pd.read_csv("seattle-weather.csv", parse_dates=["date"])
weather["month"] = weather["date"].dt.month
weather["year"] = weather["date"].dt.year
weather["rainy"] = weather["precipitation"] > 0

print(f"{len(weather)} days, {weather['date'].min():%Y-%m-%d} to {weather['date'].max():%Y-%m-%d}\n")

by_year = weather.groupby("year").agg(
    rain_mm=("precipitation", "sum"),
    rainy_days=("rainy", "sum"),
    warmest=("temp_max", "max"),
    coldest=("temp_min", "min"),
    mean_max=("temp_max", "mean"),
)
print(by_year.round(1).to_string(), "\n")

by_month = weather.groupby("month").agg(
    rain_mm=("precipitation", lambda rain: rain.sum() / weather["year"].nunique()),
    temp_max=("temp_max", "mean"),
    temp_min=("temp_min", "mean"),
)
names = pd.to_datetime(by_month.index, format="%m").strftime("%b")
wettest, driest = by_month["rain_mm"].idxmax(), by_month["rain_mm"].idxmin()
print(f"wettest month: {names[wettest - 1]} ({by_month['rain_mm'].max():.0f} mm a year)")
print(f"driest month:  {names[driest - 1]} ({by_month['rain_mm'].min():.0f} mm a year)")

sun, rest = (weather.loc[weather["weather"].eq("sun") == wanted, "temp_max"] for wanted in (True, False))
print(f"days of sun are {sun.mean() - rest.mean():.1f} degrees warmer than the others")
print(f"correlation of rain and highest temperature: {weather['precipitation'].corr(weather['temp_max']):.2f}")

figure, rain = plt.subplots(figsize=(9, 5), layout="constrained")
rain.bar(names, by_month["rain_mm"], color="#7da7d9", label="rain (mm a month)")
rain.set_ylabel("rain (mm)")
rain.set_title("Seattle, mean of 2012 to 2015")
rain.spines[["top", "right"]].set_visible(False)
temperature = rain.twinx()
temperature.plot(names, by_month["temp_max"], color="#d1495b", marker="o", label="highest (°C)")
temperature.plot(names, by_month["temp_min"], color="#30638e", marker="o", label="lowest (°C)")
temperature.set_ylabel("temperature (°C)")
temperature.set_ylim(0, None)
temperature.spines["top"].set_visible(False)
figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False)
figure.savefig("weather.png", dpi=150, bbox_inches="tight")
