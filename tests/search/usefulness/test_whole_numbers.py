"""Whole numbers: serial numbers tell nothing by their values, and true keys are found under headers of any language."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin

SERIAL_HEADERS = (
    "id",
    "ID",
    "nr",
    "no",
    "num",
    "number",
    "key",
    "pk",
    "index",
    "row",
    "Unnamed: 0",
    "lfd",
    "identifier",
)
SIZES = (10, 30, 100, 365, 1000, 2500, 6800)
PAIRS = (
    ("customer_id", "customer_id", "customers"),
    ("Kunde", "Kundennr", "Kunden"),
    ("kundennr", "kundennr", "Kunden"),
    ("emp", "employee", "employees"),
    ("store", "store", "stores"),
    ("order_no", "order_number", "orders"),
    ("cust_no", "customer_number", "customers"),
    ("product", "sku", "products"),
    ("dept_id", "department", "departments"),
    ("cliente", "codigo_cliente", "clientes"),
    ("client", "num_client", "clients"),
    ("klant", "klantnummer", "klanten"),
    ("kund", "kundnr", "kunder"),
    ("клиент", "код_клиента", "клиенты"),
    ("客户", "客户编号", "客户"),
)


def lake_of_numbers(rng):
    """Tables with serial numbers, padded ones, years, and counts, under the headers that any lake has."""
    tables = {}
    for i, n in enumerate((12, 31, 104, 110, 300, 365, 420, 1000, 2600, 6900)):
        header = SERIAL_HEADERS[i % len(SERIAL_HEADERS)]
        tables[f"table{i}"] = pd.DataFrame(
            {header: range(1, n + 1), "votes": rng.integers(0, n, n), "text": [f"s{i} {j}" for j in range(n)]}
        )
    wards = {"ward": [f"{j:03d}" for j in range(1, 111)] * 3, "votes": rng.integers(0, 900, 330)}
    goals = {
        "no": range(40),
        "goals": range(1, 41),
        "x_inf": rng.permutation(np.arange(1, 41)),
    }  # as `identifier` begins
    return tables | {"wards": pd.DataFrame(wards), "goals": pd.DataFrame(goals)}


def test_serial_numbers_of_unrelated_tables_are_no_hits(build):
    lake = build(lake_of_numbers(np.random.default_rng(1)))
    for n in SIZES:
        for header in SERIAL_HEADERS:
            df = pd.DataFrame({header: range(1, n + 1)})
            hits = df.discover_joinable(header, lake, k=3, min_score=0)
            assert len(hits) and hits["score"].max() < 0.5, (n, header, hits)
        for on in (None, header):
            assert dfjoin.auto_join(df, lake, on=on, on_no_match="ignore").shape == df.shape


def test_a_word_among_serial_numbers_adds_nothing(build):
    generals = {"number": [*map(str, range(1, 28)), "(acting)"], "general": [f"g{i}" for i in range(28)]}
    lake = build({"chiefs": pd.DataFrame(generals), "rain": pd.DataFrame({"mm": [1.5, 2.5]})})
    df = pd.DataFrame({"round": [*map(str, range(1, 23)), "EF"], "score": [i + 0.5 for i in range(23)]})
    assert df.discover_joinable("round", lake, min_score=0)["score"].max() < 0.5
    for on in (None, "round"):
        assert dfjoin.auto_join(df, lake, on=on, on_no_match="ignore").shape == df.shape


def test_padding_a_serial_number_adds_nothing(build):
    lake = build(lake_of_numbers(np.random.default_rng(2)))
    for header in ("pk", "precinct", "no"):
        df = pd.DataFrame({header: range(1, 105)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = [
                df.discover_joinable(header, lake, pad=pad, tables="wards", min_score=0)["score"] for pad in (2, 3)
            ]
        assert (pd.concat(scores) < 0.5).all(), header


@pytest.mark.parametrize("kind", ["1 to n", "from 1001", "six digits"])
def test_a_true_key_is_found_and_stands_above_all_accidents(build, kind):
    rng = np.random.default_rng(3)
    values = {
        "1 to n": np.arange(1, 301),
        "from 1001": np.arange(1001, 1301),
        "six digits": rng.choice(np.arange(100_000, 1_000_000), 300, replace=False),
    }[kind]
    for own, theirs, table in PAIRS:
        parent = pd.DataFrame({theirs: values, "city": [f"city {i % 40}" for i in range(300)]})
        lake = build(lake_of_numbers(rng) | {table: parent})
        df = pd.DataFrame({own: rng.permutation(np.append(values, rng.choice(values, 1700))), "amount": range(2000)})
        hits = df.discover_joinable(own, lake, k=20, min_score=0)
        assert hits["table"].iloc[0] == table and hits["score"].iloc[0] >= 0.5, (own, theirs, hits.head(3))
        assert (hits["score"].iloc[1:] < 0.5).all(), (own, theirs, hits.head(3))
        wide = dfjoin.auto_join(df, lake, on=own)
        assert wide["city"].notna().all(), (own, theirs)


def test_explain_says_in_plain_words_that_serial_numbers_tell_nothing(build):
    lake = build(lake_of_numbers(np.random.default_rng(4)))
    told = pd.DataFrame({"pk": range(1, 300)}).discover_joinable("pk", lake, min_score=0).explain(0)
    assert any(text.startswith("the shared numbers tell nothing") for text in told.evidence_against)
    first = "\n".join(str(told).splitlines()[:5])
    assert not any(word in first for word in ("bits", "lists", "tokens"))
