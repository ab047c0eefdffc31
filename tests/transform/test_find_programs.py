import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError
from dfjoin.programs.code_operators import CheckDigit, Isbn, Mod97
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform import find_programs as module
from dfjoin.transform.evidence.outcome import evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import TransformJoin, join_rows
from dfjoin.transform.evidence.value_pairs import SuffixArray, find_pairs
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs.accept import AcceptedPrograms
from dfjoin.transform.pairs.column_pair import ColumnPair

LETTERS = np.array(list("abcdefghijklmnoprstuvw"))


def words(rng, n, low=4, high=9):
    """Return distinct random words."""
    found = {}
    while len(found) < n:
        found["".join(rng.choice(LETTERS, rng.integers(low, high))).capitalize()] = None
    return list(found)


def table(**columns):
    return {name: pa.array(values, pa.string()) for name, values in columns.items()}


def pairs(found, left, right):
    """Return the joined rows as a set."""
    joined = join_rows(found, left, right)
    return set(zip(joined.left_rows.tolist(), joined.right_rows.tolist(), strict=True))


@pytest.fixture
def people(rng):
    """Sixty people, and the order that another table has them in."""
    return words(rng, 60), words(rng, 60), rng.permutation(60)


TRUTH = {
    "last, first": lambda a, b, i: f"{b}, {a} ({1950 + i})",
    "e-mail": lambda a, b, i: f"{a[0].lower()}.{b.lower()}@example.org",
    "user": lambda a, b, i: f"{a[:2]}{b}",
    "upper": lambda a, b, i: f"{a} {b}".upper(),
}


@pytest.mark.parametrize("form", TRUTH)
def test_names_in_two_columns_join_what_is_made_of_them(people, form):
    first, last, order = people
    made = [TRUTH[form](a, b, i) for i, (a, b) in enumerate(zip(first, last, strict=True))]
    left = table(id=[str(7 * i) for i in range(60)], first=first, last=last)
    right = table(key=[made[i] for i in order], other=words(np.random.default_rng(3), 60))
    found = find_programs(left, right)
    assert pairs(found, left, right) == {(int(row), place) for place, row in enumerate(order)}
    assert found.source_coverage == found.target_coverage == 1.0


def test_both_directions_are_found(people):
    first, last, order = people
    short = [f"{a} {b}" for a, b in zip(first, last, strict=True)]
    long = [f"[{i:03d}] {short[i]} - born {1900 + i}" for i in order]
    left, right = table(name=short), table(entry=long)
    forward, backward = find_programs(left, right), find_programs(right, left)
    assert (forward.direction, backward.direction) == ("right_to_left", "left_to_right")
    assert {(b, a) for a, b in pairs(backward, right, left)} == pairs(forward, left, right)
    assert len(pairs(forward, left, right)) == 60


def test_several_programs_cover_what_one_cannot(people):
    first, last, order = people
    made = [f"{b}, {a}, y" if i % 3 else f"x, {a}, {b}" for i, (a, b) in enumerate(zip(first, last, strict=True))]
    left, right = table(person=made), table(name=[f"{first[i]} {last[i]}" for i in order])
    found = find_programs(left, right)
    assert len(found.programs) == 2
    assert sum(ranked.support for ranked in found.programs) == 60
    assert pairs(found, left, right) == {(int(row), place) for place, row in enumerate(order)}
    assert set(join_rows(found, left, right).programs.tolist()) == {0, 1}


def test_composite_columns_are_split_where_nothing_else_joins(people, rng):
    first, last, order = people
    names = [f"{a} {b}" for a, b in zip(first, last, strict=True)]
    left = table(entry=[f"{name}; {w}" for name, w in zip(names, words(rng, 60), strict=True)])
    codes = words(rng, 60)
    right = table(label=[f"{names[i]} ({codes[i]})" for i in order])
    found = find_programs(left, right)
    assert pairs(found, left, right) == {(int(row), place) for place, row in enumerate(order)}
    assert found.target is not None
    assert not found.target.is_identity


def test_nulls_and_empty_texts_join_nothing(people):
    first, last, _ = people
    left = table(name=[*(f"{b}, {a}" for a, b in zip(first, last, strict=True)), None, ""])
    right = table(name=[*(f"{a} {b}" for a, b in zip(first, last, strict=True)), None, ""])
    found = find_programs(left, right)
    assert pairs(found, left, right) == {(i, i) for i in range(60)}


def test_repeated_rows_join_every_row_of_their_value():
    names = words(np.random.default_rng(5), 20)
    left = table(x=[f"<{name}>" for name in [*names, *names[:5]]])
    right = table(y=[*names, names[0]])
    found = find_programs(left, right)
    expected = {(i, i % 20) for i in range(25)} | {(0, 20), (20, 20)}
    assert pairs(found, left, right) == expected


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_random_tables_do_not_join(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 80))
    left = table(a=words(rng, n), b=[f"{x} {y}" for x, y in zip(words(rng, n), words(rng, n), strict=True)])
    right = table(c=words(rng, n), d=[f"{y}-{i}" for i, y in enumerate(words(rng, n))])
    found = find_programs(left, right)
    assert not found.found, str(found)


def test_codes_that_begin_alike_are_no_more_evidence_side_by_side(rng):
    codes = sorted({"".join(rng.choice(LETTERS, 3)) for _ in range(250)})
    begins = [codes[0], codes[90], codes[180], "xyz", "zzy", "wxz"]
    left = table(track=[begin + end for begin, end in zip(begins, words(rng, 6), strict=True) for _ in range(20)])
    right = table(short=[code[:2] for code in codes], long=codes, label=words(rng, len(codes)))
    found = find_programs(left, right)
    assert not found.found, str(found)


def test_numbers_of_one_range_do_not_join():
    left = table(id=[str(i) for i in range(1, 101)], year=[str(1900 + i) for i in range(100)])
    right = table(number=[str(i) for i in range(50, 150)], founded=[str(1920 + i % 90) for i in range(100)])
    found = find_programs(left, right)
    assert not found.found
    assert any("chance may explain it" in line for line in found.tried)


def test_dates_of_one_range_do_not_join():
    days = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(100)]
    assert not find_programs(table(sold=days), table(born=days[10:90])).found


def test_numbers_behind_a_constant_do_not_join():
    left = table(year=[str(1950 + i) for i in range(60)], code=[str(i) for i in range(60)])
    right = table(file=[f"part-{i:03d}.csv" for i in range(20, 60)], day=[f"Jan 1 {1960 + i}" for i in range(40)])
    found = find_programs(left, right)
    assert not found.found, str(found)


def test_what_was_tried_is_told():
    rng = np.random.default_rng(8)
    found = find_programs(table(a=words(rng, 50, 8, 12)), table(b=words(rng, 50, 8, 12)))
    assert str(found).startswith("no join found")
    assert all(" = " in line for line in found.tried)


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_without_rows_do_not_join(rows):
    one = table(a=["x y"] * rows)
    assert not find_programs(one, one).found
    assert pairs(find_programs(one, one), one, one) == set()


def test_columns_may_be_named(people):
    first, last, order = people
    full = [f"{a} {b}" for a, b in zip(first, last, strict=True)]
    left = table(good=full, better=[f"{name} II" for name in full])
    right = table(key=[full[i].upper() for i in order])
    found = find_programs(left, right, on="better", right_on="key")
    assert found.source_columns == ("better",)
    assert len(pairs(found, left, right)) == 60


def test_columns_that_are_a_key_together_are_joined_together(rng):
    first, last = words(rng, 40), words(rng, 40)
    everyone = list(dict.fromkeys((first[i], last[j]) for i, j in rng.integers(0, 40, (64, 2))))
    assert max(len({a for a, _ in everyone}), len({b for _, b in everyone})) < 0.8 * len(everyone)
    order = rng.permutation(len(everyone))
    left = table(person=[f"{b}, {a}" for a, b in everyone])
    right = table(
        given=[everyone[i][0] for i in order], family=[everyone[i][1] for i in order], n=["1"] * len(everyone)
    )
    for options in ({}, {"on": "person", "right_on": ["given", "family"]}):
        found = find_programs(left, right, **options)
        assert pairs(found, left, right) == {(int(row), place) for place, row in enumerate(order)}


def test_large_tables_of_two_forms_get_two_programs():
    rng = np.random.default_rng(2)
    n = 12_000
    names = [f"{a}{i:05d} {b}" for i, (a, b) in enumerate(rng.choice(words(rng, 500), (n, 2)))]
    made = [name if i % 4 else "{}; {}".format(*name.split(" ")[::-1]) for i, name in enumerate(names)]
    left, right = table(x=[f"<{one}>" for one in made]), table(y=[names[i] for i in rng.permutation(n)])
    found = find_programs(left, right)
    assert join_rows(found, left, right).left_rows.size == n


def test_examples_are_honoured(people):
    first, last, _ = people
    left = table(first=first, last=last)
    right = table(mail=[f"{a[0]}{b}@x.org".lower() for a, b in zip(first, last, strict=True)])
    examples = [(first[i], f"{first[i][0]}{last[i]}@x.org".lower()) for i in (3, 4)]
    found = find_programs(left, right, on="first", right_on="mail", examples=examples)
    assert pairs(found, left, right) == {(i, i) for i in range(60)}
    assert find_programs(left, right, examples=examples).direction == "left_to_right"


def test_examples_of_two_rows_are_enough_where_evidence_is_not():
    left, right = table(x=["Ann Lee", "Bob Ray", "Cy Poe"]), table(y=["AL", "BR", "CP"])
    assert not find_programs(left, right).found
    found = find_programs(left, right, examples=[("Ann Lee", "AL"), ("Bob Ray", "BR")])
    assert pairs(found, left, right) == {(0, 0), (1, 1), (2, 2)}


def test_examples_that_nothing_explains_give_no_join():
    found = find_programs(table(x=["a1", "b2"]), table(y=["xyz", "uvw"]), examples=[("a1", "xyz")])
    assert not found.found
    assert found.tried == ("x = y: no program makes the examples", "y = x: no program makes the examples")


def test_the_seed_decides_and_nothing_else(people):
    first, last, order = people
    left = table(a=[f"{b}, {a}" for a, b in zip(first, last, strict=True)])
    right = table(b=[f"{first[i]} {last[i]}" for i in order])
    assert find_programs(left, right) == find_programs(left, right)


def test_a_result_is_json_and_its_programs_can_be_read_back(people):
    first, last, _ = people
    left = table(a=[f"{b}, {a}" for a, b in zip(first, last, strict=True)])
    found = find_programs(left, table(b=[f"{a} {b}" for a, b in zip(first, last, strict=True)]))
    written = json.loads(json.dumps(found.to_dict()))
    assert Program.from_dict(written["programs"][0]["program"]) == found.programs[0].program
    assert written["direction"] == "left_to_right"
    assert "60 rows" in str(found)


def test_nothing_found_is_an_empty_join():
    joined = join_rows(TransformJoin(), table(a=["x"]), table(b=["x"]))
    assert joined.left_rows.size == joined.right_rows.size == joined.programs.size == 0


def test_large_tables_are_sampled_and_joined_whole():
    rng = np.random.default_rng(1)
    n = 30_000
    names = [f"{a}{i:05d}" for i, a in enumerate(rng.choice(words(rng, 500), n))]
    order = rng.permutation(n)
    left, right = (
        table(name=[f"x-{name}-{i % 7}" for i, name in enumerate(names)]),
        table(key=[names[i] for i in order]),
    )
    found = find_programs(left, right)
    assert pairs(found, left, right) == {(int(row), place) for place, row in enumerate(order)}


ONE = table(a=["x"])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"on": "b"}, ColumnNotFoundError, r"`on` must name columns of the table, 'a'; got 'b'"),
        ({"right_on": ["a", "c"]}, ColumnNotFoundError, r"`right_on` must name columns of the table, 'a'; got 'c'"),
        ({"on": []}, InvalidParameterError, "`on` must name 1 to 3 columns, got 0"),
        ({"right_on": ["a"] * 4}, InvalidParameterError, "`right_on` must name 1 to 3 columns, got 4"),
        (
            {"examples": []},
            InvalidTypeError,
            r"`examples` must be pairs of texts \(left value, right value\), got \[\]",
        ),
        ({"examples": [("x", "y"), ("x",)]}, InvalidTypeError, "`examples` must be pairs of texts"),
        ({"examples": [("x", 1)]}, InvalidTypeError, "`examples` must be pairs of texts"),
    ],
)
def test_wrong_arguments_are_named(options, error, text):
    with pytest.raises(error, match=text):
        find_programs(ONE, ONE, **options)


def test_examples_must_be_in_the_tables():
    two = table(a=["x"], b=["y"])
    with pytest.raises(InvalidParameterError, match="`examples` must hold values of the tables, but no column has 'q'"):
        find_programs(two, two, examples=[("q", "x")])


def test_three_forms_get_three_programs(people):
    first, last, order = people
    forms = [lambda a, b: f"{b}, {a}, y", lambda a, b: f"x, {a}, {b}", lambda a, b: f"{a}--{b} of 12 or so on"]
    made = [forms[i % 3](a, b) for i, (a, b) in enumerate(zip(first, last, strict=True))]
    left, right = table(person=made), table(name=[f"{first[i]} {last[i]}" for i in order])
    found = find_programs(left, right)
    assert len(found.programs) == 3
    assert pairs(found, left, right) == {(int(row), place) for place, row in enumerate(order)}


def test_columns_that_are_not_the_most_similar_are_tried_too():
    rng = np.random.default_rng(4)
    target = words(rng, 40, 12, 13)
    junk = words(rng, 80, 40, 41)
    left = table(
        near=[f"{word[:9]}{other[:5]}" for word, other in zip(target, junk, strict=False)],
        further=[f"{other[:9]}{word[:4]}" for word, other in zip(target, junk[40:], strict=True)],
    )
    found = find_programs(left, table(key=target), right_on="key")
    assert not found.found
    tried = {line.partition(" = ")[0] for line in found.tried}
    assert {"near", "further"} <= tried


def test_words_that_all_values_hold_do_not_hide_that_a_calendar_is_rewritten():
    weeks = [(year, week) for year in (2021, 2022, 2023) for week in range(1, 53)]
    left = table(w=[f"Week {week}, {year}" for year, week in weeks])
    right = table(year=[str(year) for year, _ in weeks], week=[str(week) for _, week in weeks])
    found = find_programs(left, right)
    assert found.target_columns == ("year", "week") and found.target_coverage == 1
    months = table(
        year=[str(year) for year in (2021, 2022, 2023) for _ in range(12)], month=[str(1 + i % 12) for i in range(36)]
    )
    assert not find_programs(left, months).found, "weeks are no months"


def test_books_are_found_by_either_number():
    short = [CheckDigit("mod 11")(f"{n:09d}") for n in np.random.default_rng(0).choice(10**9, 60, replace=False)]
    long = [Isbn(13)(text) for text in short]
    found = find_programs(table(isbn=short), table(code=long[::-1]))
    assert (found.source_coverage, found.target_coverage) == (1, 1)


@pytest.mark.parametrize("country", ["DE", ""])
def test_accounts_are_found_by_their_check_digits(country):
    accounts = [f"37040044{n:010d}" for n in np.random.default_rng(0).choice(10**9, 60, replace=False)]
    codes = [Mod97(country)(text) for text in accounts]
    found = find_programs(table(account=accounts), table(code=codes[::-1]))
    assert (found.source_coverage, found.target_coverage) == (1, 1)
    examples = list(zip(accounts, codes, strict=True))[:2]
    taught = find_programs(table(account=accounts), table(code=codes[::-1]), examples=examples)
    assert (taught.source_coverage, taught.target_coverage) == (1, 1)


@pytest.mark.parametrize(
    ("main", "columns", "direction", "shares", "wholeness", "is_joined"),
    [
        ("name", ("last",), "left_to_right", (1.0, 1.0), 1.0, True),
        ("name", ("last",), "left_to_right", (0.4, 0.4), 1.0, False),  # another program may join the others
        ("name", ("first", "last"), "left_to_right", (0.4, 0.4), 1.0, True),  # the names are read as a whole
        ("name", ("first", "last"), "left_to_right", (1.0, 1.0), 0.6, False),  # what is not read may be the first name
        ("name", ("first",), "left_to_right", (1.0, 1.0), 1.0, False),
        ("town", ("first", "last"), "left_to_right", (0.4, 0.4), 1.0, False),
        ("last", ("name",), "right_to_left", (1.0, 1.0), 1.0, True),
        ("last", ("name",), "right_to_left", (0.4, 0.4), 1.0, False),
        ("last", ("name",), "left_to_right", (1.0, 1.0), 1.0, False),
    ],
)
def test_columns_that_accepted_programs_join_as_a_whole_are_not_looked_at_with_others(
    main, columns, direction, shares, wholeness, is_joined
):
    name, last = (Column(label, pa.array([f"value {i}" for i in range(20)])) for label in ("name", "last"))
    pairs = find_pairs(SuffixArray(name.values), SuffixArray(last.values))
    outcome = evaluate(Program.identity("name"), [name], name, last.values)
    known = ColumnPair([name], name, last, pairs)
    one = AcceptedPrograms("left_to_right", known, Program.identity("last"), [outcome], 0, 1.0, shares, wholeness)
    asked = Column(main, name.array)
    target = Program(columns, tuple(Extract(i) for i in range(len(columns))))
    assert module._joins_all(one, direction, ColumnPair([asked], asked, last, pairs), target) is is_joined


@pytest.mark.parametrize(("n_values", "is_found"), [(2, False), (3, True)])
def test_a_program_that_joins_what_it_is_learned_from_and_no_more_is_refused_where_nobody_names_columns(
    n_values, is_found
):
    """The constants are the targets' own: two results that have them are no evidence for them."""
    chambers = ["lower", "upper", "middle"][:n_values]
    left = table(
        id=[f"division/country:us/state:nv/{c}-{i}" for c in ("lower", "upper", "middle") for i in range(1, 5)]
    )
    right = table(kind=[f"{chamber} class" for chamber in chambers] + ["none of the above", "both"][: n_values - 1])
    found = find_programs(left, right)
    assert bool(found.found) is is_found
    if not is_found:
        assert any("joins 2 values, and is learned from as many" in reason for reason in found.tried)
    assert find_programs(left, right, on="id", right_on="kind").found


def test_a_word_that_other_values_exchange_is_no_evidence():
    """Every city has four works: that `tramway <city>` occurs for all of them does not make it the partner of all."""
    cities = ["hamburg", "köln", "stuttgart", "leipzig", "dresden", "bremen", "essen", "kassel", "erfurt", "mainz"]
    kinds = ["stadtwerke", "kinderkrankenhaus", "wasserverband", "tramway"]
    left = [("k", pa.array([f"{kind} {city}" for city in cities for kind in kinds]))]
    right = [("name", pa.array([f"{city}er {kind[:4]}-{kind[4:]}" for city in cities for kind in kinds]))]
    joined = join_rows(find_programs(left, right), left, right)
    assert (joined.left_rows == joined.right_rows).all()
    stations = ["Stuttgart", "Dresden", "Leipzig", "Malmö"]
    site = [("site", pa.array([f"{city} ({kind})" for city in stations for kind in ("wache", "klinik", "schule")]))]
    english = [("works", pa.array([f"{kind}, {city}" for kind in ("fire station", "hospital") for city in stations]))]
    joined = join_rows(find_programs(site, english, on="site", right_on="works"), site, english)
    assert joined.left_rows.size == 0
    alone, named = [("k", pa.array([f"tramway {city}" for city in cities]))], [("city", pa.array(cities))]
    joined = join_rows(find_programs(alone, named), alone, named)
    assert joined.left_rows.tolist() == joined.right_rows.tolist() and joined.left_rows.size == 10


FIRST_NAMES = [
    "Barack",
    "George",
    "William",
    "James",
    "Gerald",
    "Richard",
    "Lyndon",
    "John",
    "Dwight",
    "Harry",
    "Boris",
]
LAST_NAMES = [
    "Obama",
    "Bush",
    "Clinton",
    "Carter",
    "Ford",
    "Nixon",
    "Johnson",
    "Kennedy",
    "Eisenhower",
    "Truman",
    "Lee",
]


@pytest.mark.parametrize(
    "write",
    [
        lambda first, last: f"{last}, {first[0]}.",
        lambda first, last: f"{first[0]}. {last}",
        lambda first, last: f"{first[0]}{last}".lower(),
        lambda first, last: f"{last.upper()} {first[:2]}",
    ],
)
def test_first_letters_of_another_column_are_part_of_the_key(write):
    first, last = [*FIRST_NAMES, "Mary", "Susan"], [*LAST_NAMES, "Obama", "Ford"]
    keys = [write(*names) for names in zip(first, last, strict=True)]
    names = {"first": pa.array(first), "last": pa.array(last)}
    found = find_programs({"key": pa.array(keys[::-1])}, names)
    (ranked,) = found.programs
    assert found.direction == "right_to_left" and set(ranked.program.columns) == {"first", "last"}
    made = ranked.program.apply([names[column] for column in ranked.program.columns]).to_pylist()
    assert [text.casefold() for text in made] == [key.casefold() for key in keys]
