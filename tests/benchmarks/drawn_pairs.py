"""Everyday pairs whose kinds nobody wrote down: ``python -m tests.benchmarks.drawn_pairs [--pairs 30] [--seed 0]``.

A pair is a kind of thing (people, firms, streets, days, amounts, codes …) and two of its spellings, drawn at random. The
truth is known, since both spellings are made of one thing. Each side has rows without a partner and a further column, and
some spellings of the right have a letter wrong. Keys are named where a spelling has digits alone. Verdicts are those of
`everyday`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from tests.benchmarks import everyday

Thing = dict[str, object]
_STREETS = ["Linden", "Garten", "Bahnhof", "Schiller", "Goethe", "Berg", "Wald", "Rosen", "Mühlen", "Schloss", "Markt"]
_SONGS = ["Golden Night", "River Road", "Paper Moon", "Silver Rain", "Broken Wheel", "Summer Train", "Empty Harbour"]


def _thing(rng: np.random.Generator) -> Thing:
    """Draw what all kinds are made of."""
    word = partial(lambda words: str(rng.choice(words)))
    number = int(rng.integers(100, 9_999))
    day = pd.Timestamp("2019-01-01") + pd.Timedelta(days=int(rng.integers(0, 1_400)))
    first, last = word(everyday.FIRST), word(everyday.LAST)
    letters = "".join(rng.choice(list("ABCDEFGHJKLMNPRSTUVWXYZ"), 2))
    minutes = int(rng.integers(1, 1_440))
    return {
        "f": first, "l": last, "m": chr(65 + int(rng.integers(26))), "fl": first.lower(), "ll": last.lower(),
        "p": word(everyday.PLACES), "t": word(everyday.THINGS), "c": word(everyday.COLOURS), "n": number,
        "k": number % 89 + 1, "s": word(_STREETS), "song": word(_SONGS), "day": day, "ab": letters, "abl": letters.lower(),
        "h": minutes // 60, "min": minutes % 60, "minutes": minutes, "half": "AM" if minutes < 720 else "PM",
        "h12": (minutes // 60 - 1) % 12 + 1, "eur": number * 7 + number / 100, "x": number % 7, "y": number % 11,
        "z": number % 13, "year": 1950 + number % 70, "next": 1951 + number % 70, "share": number / 10_000,
    }  # fmt: skip


def _cents(one: Thing) -> str:
    return f"{one['eur']:,.2f}"


def _swapped(text: str) -> str:
    """Exchange the marks of thousands and decimals."""
    return text.translate(str.maketrans(",.", ".,"))


Spelling = str | Callable[[Thing], object]
THINGS: dict[str, list[Spelling]] = {
    "people": ["{f} {l}", "{l}, {f}", "{l} {f[0]}.", "{f} {m}. {l}", "{l}, {f} {m}.", "{f}.{l}@firm.com", "{fl}-{ll}"],
    "firms": ["{l} {t}s Ltd", "{l} {t}s", "{l} {t}s LIMITED", "The {l} {t}s Company", "{l} {t}s ({p})", "{l} {t}s, Inc."],
    "addresses": ["{k} {l} Street", "{k} {l} St.", "{l} Street {k}", "{k}, {l} street, {p}", "{k} {l} str"],
    "streets": ["{s}straße {k}", "{s}str. {k}", "{s}strasse {k}", "{k} {s}straße"],
    "days": ["{day:%Y-%m-%d}", "{day:%d/%m/%Y}", "{day:%d %b %Y}", "{day:%A, %d %B %Y}", "{day:%Y%m%d}", "{day:%b %d, %Y}",
             "{day:%Y-%m-%d} 00:00:00", "{day:%d.%m.%y}"],
    "times": ["{h:02d}:{min:02d}", "{h12}:{min:02d} {half}", "{h:02d}.{min:02d}h", "{h:02d}{min:02d}", "{minutes}",
              "{h}h {min}m"],
    "amounts": [_cents, lambda one: f"${_cents(one)}", lambda one: f"{_swapped(_cents(one))} €", lambda one: f"{one['eur']:.2f}",
                lambda one: f"USD {one['eur']:.2f}", lambda one: f"{round(float(str(one['eur'])) * 100)}"],
    "codes": ["{ab}-{n:04d}", "{abl}{n:04d}", "{ab} {n:04d}", "Code {ab}{n:04d}", "{n:04d}/{ab}", "{ab}{n:06d}"],
    "phones": ["+44 20 {n:04d} {k:04d}", "020 {n:04d} {k:04d}", "(020) {n:04d}{k:04d}", "004420{n:04d}{k:04d}"],
    "files": ["/data/{year}/{ll}_{n}.csv", "{ll}_{n}", "{ll}_{n}.csv", "C:\\data\\{ll}_{n}.CSV"],
    "sites": ["https://www.{ll}-{fl}.com/about", "{ll}-{fl}.com", "www.{ll}-{fl}.com", "http://{ll}-{fl}.com"],
    "versions": ["v{x}.{y}.{z}", "{x}.{y}.{z}", "{x}.{y}.{z}-final", "release {x}.{y}.{z}"],
    "shares": ["{share:.2%}", "{share:.4f}", lambda one: f"{_swapped(format(float(str(one['share'])) * 100, '.2f'))} %"],
    "lengths": [lambda one: f"{int(str(one['n'])) / 100:.2f} m", "{n}", "{n}cm", "{n} cm"],
    "durations": ["{h}h {min}m", "{minutes} min", "{h}:{min:02d}:00", lambda one: int(str(one["minutes"])) * 60],
    "courses": ["{t} {n}", "{t}-{n}", "{t}{n}: {c}", "{t} {n} ({c})"],
    "flights": ["{ab} {n:04d}", "{ab}{n}", "{abl}{n}", "Flight {ab} {n}"],
    "teams": ["{p} {c}s FC", "FC {p} {c}s", "{p} {c}s", "{p} {c}s F.C."],
    "songs": ["{song} - {f} {l}", '{f} {l}: "{song}"', "{song} ({f} {l})", "{l}, {f} – {song}"],
    "rooms": ["{m}-{n}", "Building {m}, room {n}", "{m}{n}", "{n} ({m})"],
    "seasons": ["{year}-{next}", "{year}/{next}", "Season {year}/{next}", "{year}"],
    "months": ["{day:%Y-%m}", "{day:%B %Y}", "{day:%m/%Y}", "{day:%b-%y}"],
    "products": ["{c} {t} {n} ml", "{t}, {c} ({n}ml)", "{c} {t} {n}ML", "{t} {n} ml {c}"],
    "places": ["{p}, {ab}", "{p} ({ab})", "{p} {ab}", "{ab}: {p}"],
}  # fmt: skip


def _written(one: Thing, spelling: Spelling) -> str:
    return str(spelling(one) if callable(spelling) else spelling.format(**one))


def make(seed: int) -> tuple[str, pd.DataFrame, pd.DataFrame, everyday.Truth, bool]:
    """Draw a pair: its name, the frames, which rows belong together, and whether the keys are named."""
    rng = np.random.default_rng([seed, 7])
    kind = str(rng.choice(list(THINGS)))
    a, b = rng.choice(len(THINGS[kind]), 2, replace=False).tolist()
    things = [_thing(rng) for _ in range(int(rng.integers(25, 90)))]
    pairs = {_written(one, THINGS[kind][a]): _written(one, THINGS[kind][b]) for one in things}
    wrong = (
        0.05 if rng.random() < 0.5 and kind in ("people", "firms", "addresses", "teams", "songs", "products") else 0.0
    )
    owns = list(pairs)
    rights = list(dict.fromkeys(pairs.values()))
    left = [own for own in owns if rng.random() < 0.9]
    right = [text for text in rights if rng.random() < 0.85]
    truth = {(i, j) for i, own in enumerate(left) for j, text in enumerate(right) if pairs[own] == text}
    right = [everyday.typo(rng, text) if rng.random() < wrong and len(text) > 8 else text for text in right]
    order = rng.permutation(len(right))
    place = np.argsort(order)
    frames = (
        pd.DataFrame({"key": left, "amount": rng.normal(50, 9, len(left)).round(3)}),
        pd.DataFrame({"ref": [right[i] for i in order], "score": rng.normal(5, 2, len(right)).round(3)}),
    )
    is_named = any(all(text.isdigit() for text in side) for side in (left, right))
    return f"{kind}: {owns[0]} = {pairs[owns[0]]}", *frames, {(i, int(place[j])) for i, j in truth}, is_named


def main() -> None:
    """Draw pairs, join them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for number in range(options.pairs):
        name, left, right, truth, is_named = make(1_000 * options.seed + number)
        rows.append({"pair": name, "named": is_named, **everyday.scored(left, right, truth, is_named=is_named)})
    everyday.show(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
