"""Everyday pairs of tables with truth: ``python -m tests.benchmarks.everyday [--seed 0] [--show KIND]``.

Sixty kinds of pairs that people join by hand, made by a generator: names and codes in two spellings, dates with their
periods, numbers in two units, and pairs that have nothing to do with each other. Each has rows without a partner on both
sides and a further column. The keys are named where a person would have to name them, because the values alone leave it
open: in all pairs of `NAMED`. A pair is *right* if at least nine tenths of its true pairs are joined and at most a twentieth
of the joined ones is false, *wrong* if more than a tenth is false; strangers are right if nothing is joined.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

import dfjoin

Pairs = list[tuple[object, object]]
Truth = set[tuple[int, int]]
FIRST = [
    "Anna",
    "Ben",
    "Clara",
    "David",
    "Emma",
    "Felix",
    "Grace",
    "Henry",
    "Ida",
    "Jack",
    "Karen",
    "Liam",
    "Mary",
    "Noah",
    "Olga",
    "Paul",
    "Rosa",
    "Sam",
    "Tina",
    "Victor",
]
LAST = [
    "Adams",
    "Baker",
    "Clark",
    "Dawson",
    "Evans",
    "Fisher",
    "Graham",
    "Hughes",
    "Irving",
    "Jensen",
    "Keller",
    "Lawson",
    "Miller",
    "Norris",
    "Osborne",
    "Parker",
    "Quinn",
    "Russell",
    "Simmons",
    "Turner",
    "Underwood",
    "Vaughn",
    "Walker",
    "Young",
    "Zimmer",
]
PLACES = [
    "Springfield",
    "Riverside",
    "Fairview",
    "Georgetown",
    "Clinton",
    "Salem",
    "Madison",
    "Bristol",
    "Dover",
    "Hudson",
    "Kingston",
    "Milton",
    "Newport",
    "Oxford",
    "Ashland",
    "Burlington",
    "Manchester",
    "Clayton",
    "Dayton",
    "Lexington",
    "Milford",
    "Winchester",
    "Jackson",
    "Auburn",
    "Cleveland",
    "Lebanon",
]
THINGS = [
    "Lamp",
    "Table",
    "Chair",
    "Kettle",
    "Mirror",
    "Carpet",
    "Bottle",
    "Basket",
    "Pillow",
    "Blanket",
    "Candle",
    "Drawer",
    "Bucket",
    "Ladder",
    "Hammer",
]
COLOURS = ["Black", "White", "Red", "Green", "Blue", "Yellow", "Brown", "Silver", "Golden", "Purple"]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
STATES = {
    "Alabama": "Ala.", "Arizona": "Ariz.", "California": "Calif.", "Colorado": "Colo.", "Florida": "Fla.",
    "Georgia": "Ga.", "Illinois": "Ill.", "Kansas": "Kan.", "Michigan": "Mich.", "Minnesota": "Minn.",
    "Nebraska": "Neb.", "Nevada": "Nev.", "Oklahoma": "Okla.", "Oregon": "Ore.", "Tennessee": "Tenn.",
    "Texas": "Tex.", "Vermont": "Vt.", "Virginia": "Va.", "Washington": "Wash.", "Wisconsin": "Wis.",
}  # fmt: skip
JOURNALS = {
    "Journal of Applied Physics": "J. Appl. Phys.", "Annals of Mathematics": "Ann. Math.",
    "Physical Review Letters": "Phys. Rev. Lett.", "Journal of Organic Chemistry": "J. Org. Chem.",
    "American Journal of Sociology": "Am. J. Sociol.", "Chemical Physics Letters": "Chem. Phys. Lett.",
    "European Journal of Biochemistry": "Eur. J. Biochem.", "Journal of Fluid Mechanics": "J. Fluid Mech.",
    "Quarterly Journal of Economics": "Q. J. Econ.", "Annual Review of Genetics": "Annu. Rev. Genet.",
}  # fmt: skip


def _names(rng: np.random.Generator, n: int = 60) -> list[tuple[str, str]]:
    chosen = rng.permutation(len(FIRST) * len(LAST))[:n].tolist()
    return [(FIRST[i % len(FIRST)], LAST[i // len(FIRST)]) for i in chosen]


def _products(rng: np.random.Generator, n: int = 60) -> list[tuple[str, str]]:
    chosen = rng.permutation(len(THINGS) * len(COLOURS))[:n].tolist()
    return [(COLOURS[i % len(COLOURS)], THINGS[i // len(COLOURS)]) for i in chosen]


def typo(rng: np.random.Generator, text: str) -> str:
    at = int(rng.integers(1, len(text) - 1))
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _days(rng: np.random.Generator, n: int = 110) -> list[pd.Timestamp]:
    offsets = np.sort(rng.permutation(990)[:n])
    return [pd.Timestamp("2021-01-04") + pd.Timedelta(days=int(one)) for one in offsets]


def _numbers(rng: np.random.Generator, low: int, high: int, n: int = 60) -> list[int]:
    return sorted((low + rng.permutation(high - low)[:n]).tolist())


def _of_names(left: str, right: str) -> Callable[[np.random.Generator], Pairs]:
    """Write names in two forms."""
    return lambda rng: [
        (left.format(f=f, l=l, n=i), right.format(f=f, l=l, n=i, fl=f.lower(), ll=l.lower()))
        for i, (f, l) in enumerate(_names(rng), 101)  # noqa: E741
    ]


def _of_days(write: Callable[[pd.Timestamp], object], left: str = "%Y-%m-%d") -> Callable[[np.random.Generator], Pairs]:
    """Relate days and what holds of them."""
    return lambda rng: [(day.strftime(left), write(day)) for day in _days(rng)]


def _of_numbers(low: int, high: int, write: Callable[[int], object]) -> Callable[[np.random.Generator], Pairs]:
    return lambda rng: [(number, write(number)) for number in _numbers(rng, low, high)]


def _of_digits(width: int, write: Callable[[str], str], first: str = "{}") -> Callable[[np.random.Generator], Pairs]:
    def make(rng: np.random.Generator) -> Pairs:
        codes = {"".join(map(str, rng.integers(0, 10, width))) for _ in range(60)}
        return [(first.format(code), write(code)) for code in sorted(codes)]

    return make


def _of_places(left: str, right: str) -> Callable[[np.random.Generator], Pairs]:
    return lambda rng: [
        (left.format(p=place, n=n), right.format(p=place, u=place.upper(), n=n))
        for place, n in zip(PLACES, rng.permutation(900)[: len(PLACES)] + 1, strict=True)
    ]


def _roman(number: int) -> str:
    parts = ((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
    made = ""
    for value, letters in parts:
        made, number = made + letters * (number // value), number % value
    return made


def _quarter(day: pd.Timestamp) -> int:
    return (day.month + 2) // 3


SPELLED: dict[str, Callable[[np.random.Generator], Pairs]] = {
    "last, first": _of_names("{f} {l}", "{l}, {f}"),
    "initial": _of_names("{f} {l}", "{f[0]}. {l}"),
    "user names": _of_names("{f} {l}", "{f[0]}{ll}"),
    "e-mails": _of_names("{f} {l}", "{fl}.{ll}@example.com"),
    "titles": _of_names("Dr. {f} {l}", "{l}, {f} (MD)"),
    "capitals": _of_names("{f} {l}", "{f} {l}"),
    "customer numbers": _of_names("{l} {n}", "CUST-0{n}"),
    "typos": lambda rng: [(f"{f} {l}", typo(rng, f"{f} {l}")) for f, l in _names(rng)],  # noqa: E741
    "accents": lambda rng: [
        (f"{f} {l}".replace("a", "á").replace("o", "ö"), f"{f} {l}")
        for f, l in _names(rng)  # noqa: E741
    ],
    "legal suffixes": lambda rng: [
        (f"{last} {t}s Ltd.", f"{last} {t}s Limited")
        for (_, last), (_, t) in zip(_names(rng, 40), _products(rng, 40), strict=True)
    ],
    "plurals": lambda rng: [(f"{c} {t}", f"{c} {t}s") for c, t in _products(rng)],
    "swapped words": lambda rng: [(f"{c} {t}", f"{t}, {c.lower()}") for c, t in _products(rng)],
    "skus": lambda rng: [
        (f"{c[:3].upper()}-{t[:3].upper()}-{i}", f"{c[:3]}{t[:3]}{i}".lower())
        for i, (c, t) in enumerate(_products(rng), 1000)
    ],
    "hospitals": _of_places("{p} General Hospital", "{u} GENERAL HOSP"),
    "addresses": _of_places("{n} {p} Street", "{n} {p} St."),
    "cities and codes": _of_places("{p} (Town)", "{p}"),
    "universities": _of_places("University of {p}", "{p} University"),
    "phones": _of_digits(10, lambda c: f"+1 {c[:3]} {c[3:6]} {c[6:]}", "{}"),
    "phones with brackets": _of_digits(10, lambda c: f"({c[:3]}) {c[3:6]}-{c[6:]}", "{}"),
    "plates": _of_digits(6, lambda c: f"AB-{c[:3]}-{c[3:]}", "AB{}"),
    "uuids": _of_digits(32, lambda c: f"{c[:8]}-{c[8:12]}-{c[12:16]}-{c[16:20]}-{c[20:]}", "{}"),
    "ibans": _of_digits(20, lambda c: "DE" + " ".join([c[:2], c[2:6], c[6:10], c[10:14], c[14:18], c[18:]]), "DE{}"),
    "leading zeros": _of_digits(6, lambda c: str(int(c)), "{}"),
    "order numbers": _of_digits(7, lambda c: f"#{c}", "Order {}"),
    "amounts": _of_numbers(1000, 99_999, lambda n: f"${n:,}.00"),
    "thousands": _of_numbers(1000, 9_999_999, lambda n: f"{n:,}"),
    "urls": _of_names("{f} {l}", "https://example.com/people/{fl}-{ll}"),
    "cyrillic": lambda rng: [
        (f"{f}{i}", f"{f.upper()} {i}")
        for i, f in enumerate(
            ["Москва", "Казань", "Самара", "Омск", "Пермь", "Уфа", "Волгоград", "Саратов", "Тюмень", "Тула"] * 3, 101
        )
    ],
    "chinese": lambda rng: [
        (f"{name}市", name)
        for name in [
            "北京",
            "上海",
            "广州",
            "深圳",
            "成都",
            "杭州",
            "武汉",
            "西安",
            "苏州",
            "南京",
            "天津",
            "重庆",
            "长沙",
            "青岛",
            "沈阳",
            "宁波",
            "昆明",
        ]
    ],
    "german dates": _of_days(lambda day: day.strftime("%d.%m.%Y")),
    "us dates": _of_days(lambda day: f"{day.month}/{day.day}/{day:%Y}"),
    "long dates": _of_days(lambda day: f"{day.day} {day:%B} {day:%Y}"),
    "journals": lambda rng: list(JOURNALS.items()),
    "newspaper states": lambda rng: list(STATES.items()),
}
"""Kinds whose keys are unknown."""
NAMED: dict[str, Callable[[np.random.Generator], Pairs]] = {
    "month": _of_days(lambda day: day.strftime("%Y-%m")),
    "month name and year": _of_days(lambda day: day.strftime("%b %Y")),
    "month-yy": _of_days(lambda day: day.strftime("%b-%y")),
    "mm/yyyy": _of_days(lambda day: day.strftime("%m/%Y")),
    "quarter": _of_days(lambda day: f"Q{_quarter(day)} {day.year}"),
    "quarter code": _of_days(lambda day: f"{day.year}Q{_quarter(day)}"),
    "year": _of_days(lambda day: day.year),
    "iso week": _of_days(lambda day: f"{day.isocalendar()[0]}-W{day.isocalendar()[1]:02d}"),
    "weekday": _of_days(lambda day: DAYS[day.day_of_week]),
    "month and month": lambda rng: [
        (f"{MONTHS[i % 12]} {2020 + i // 12}", f"{2020 + i // 12}-{i % 12 + 1:02d}") for i in range(30)
    ],
    "fiscal year": _of_days(lambda day: f"FY{day.year + (day.month >= 10)}"),
    "fiscal quarters": lambda rng: [
        (f"Q{i % 4 + 1} FY{18 + i // 4}", f"{2018 + i // 4}Q{i % 4 + 1}") for i in range(24)
    ],
    "fy and year": lambda rng: [(f"FY{year}", year) for year in range(1996, 2024)],
    "seasons": lambda rng: [(f"Season {year}", year) for year in range(1996, 2024)],
    "decades": _of_numbers(1900, 1999, lambda n: f"{n // 10 * 10}s"),
    "age bands": _of_numbers(20, 89, lambda n: f"{n // 10 * 10}-{n // 10 * 10 + 9}"),
    "roman": lambda rng: [(i, _roman(i)) for i in range(1, 40)],
    "excel dates": _of_days(lambda day: (day - pd.Timestamp("1899-12-30")).days),
    "epoch seconds": _of_days(lambda day: int(day.timestamp())),
    "kg and lb": lambda rng: [(i, f"{i * 2.20462:.1f}") for i in range(1, 40)],
    "feet and inches": lambda rng: [(f"{i // 12}'{i % 12}\"", round(i * 2.54)) for i in range(55, 85)],
    "number words": lambda rng: [
        (word, i)
        for i, word in enumerate(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
        )
    ],
    "month names": lambda rng: [(month, i) for i, month in enumerate(MONTHS, 1)],
}
"""Kinds whose keys are named."""
STRANGERS: dict[str, Callable[[np.random.Generator], Pairs]] = {
    "invoices of two years": lambda rng: [(f"INV-2023-{i:04d}", f"INV-2022-{i:04d}") for i in range(1, 60)],
    "other names": lambda rng: [
        (f"{f} {last}", f"{c} {t}") for (f, last), (c, t) in zip(_names(rng), _products(rng), strict=True)
    ],
    "prices and ages": lambda rng: [
        (a, b + 0.5) for a, b in zip(_numbers(rng, 20, 90), _numbers(rng, 0, 900), strict=True)
    ],
}
"""Kinds that must not be joined, keys named."""
KINDS = {**SPELLED, **NAMED, **STRANGERS}


def make(kind: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, Truth]:
    """Make the two frames of a kind, and the pairs of their rows that belong together."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    pairs = KINDS[kind](rng)
    if kind == "capitals":
        pairs = [(text, str(text).upper()) for text, _ in pairs]
    partners: dict[object, list[object]] = {}
    for own, theirs in pairs:
        partners.setdefault(theirs, []).append(own)
    rights = list(partners)
    n = len(rights)
    dropped = set(rng.permutation(n)[: n // 8 if n >= 16 else 0].tolist())
    kept = [value for i, value in enumerate(rights) if i not in dropped or kind in STRANGERS]
    lost = set(rng.permutation(len(pairs))[: len(pairs) // 10 if len(pairs) >= 20 else 0].tolist())
    own = [value for i, (value, _) in enumerate(pairs) if i not in lost]
    own = [own[i] for i in rng.permutation(len(own)).tolist()]
    kept = [kept[i] for i in rng.permutation(len(kept)).tolist()]
    left = pd.DataFrame({"key": own, "amount": rng.normal(50, 9, len(own)).round(3)})
    right = pd.DataFrame({"ref": kept, "score": rng.normal(5, 2, len(kept)).round(3)})
    of = {value: i for i, value in enumerate(kept)}
    by_own: dict[object, object] = dict(pairs)
    truth = {(i, of[by_own[value]]) for i, value in enumerate(own) if by_own[value] in of}
    return left, right, set() if kind in STRANGERS else truth


def scored(left: pd.DataFrame, right: pd.DataFrame, truth: Truth, *, is_named: bool) -> dict[str, object]:
    """Join two frames, and compare with the truth."""
    wishes = {"on": "key", "right_on": "ref"} if is_named else {}
    rows = {"left_row": np.arange(len(left)) + 0.5}, {"right_row": np.arange(len(right)) + 0.5}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = dfjoin.auto_join(
            left.assign(**rows[0]), right.assign(**rows[1]), how="inner", aggregate=None, max_expansion=1e6,
            on_no_match="ignore", **wishes,
        )  # fmt: skip
    seconds = time.process_time() - start
    found: set[tuple[int, int]] = set()
    if wide.attrs["dfjoin"]["joined"]:
        found = set(zip(wide["left_row"].astype(int), wide["right_row"].astype(int), strict=True))
    precision = len(found & truth) / len(found) if found else 1.0
    recall = len(found & truth) / len(truth) if truth else 1.0
    verdict = "partly"
    if precision < 0.9:
        verdict = "wrong"
    elif precision >= 0.95 and recall >= 0.9:
        verdict = "right"
    elif not found:
        verdict = "refused"
    return {"precision": precision, "recall": recall, "verdict": verdict, "seconds": seconds}


def show(table: pd.DataFrame) -> None:
    """Print what was joined, and means over the pairs that should be."""
    print(table.to_string(float_format="{:.3f}".format))
    joined = table[~table[table.columns[0]].isin(list(STRANGERS))]
    f1 = 2 * joined.precision * joined.recall / (joined.precision + joined.recall)
    print(f"{len(table)} pairs:", table.verdict.value_counts().to_dict())
    print(f"precision {joined.precision.mean():.3f}, recall {joined.recall.mean():.3f}, F1 {f1.mean():.3f}")
    print(f"CPU p95 {table.seconds.quantile(0.95):.2f} s, median {table.seconds.median():.2f} s")


def main() -> None:
    """Run all kinds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", help="one kind: its frames and its report")
    options = parser.parse_args()
    if options.show:
        left, right, _ = make(options.show, options.seed)
        wishes = {"on": "key", "right_on": "ref"} if options.show not in SPELLED else {}
        print(left.head(), right.head(), sep="\n")
        print(dfjoin.report(dfjoin.auto_join(left, right, on_no_match="ignore", **wishes)))
        return
    rows = []
    for kind in KINDS:
        left, right, truth = make(kind, options.seed)
        rows.append({"kind": kind, **scored(left, right, truth, is_named=kind not in SPELLED)})
    show(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
