"""Made databases with whole numbers as keys, whose truth is known: headers of many languages, three kinds of numbers.

Each database has two tables of things, one table that refers to both, and tables of measures and counts with a serial
number, as they stand in any lake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["NUMBERS", "WORDS", "NumberCase", "number_cases"]

WORDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "English": (("customers", "customer_number", "cust_no"), ("departments", "dept_id", "department")),
    "English 2": (("suppliers", "supplier_id", "supplier_id"), ("warehouses", "id", "warehouse")),
    "English 3": (("machines", "code", "machine_code"), ("patients", "patientid", "patient_id")),
    "English 4": (("vehicles", "vehicle", "vehicle"), ("articles", "ean", "article")),
    "German": (("Lieferanten", "Lieferantennr", "Lieferant"), ("Artikel", "Artikelnummer", "ArtNr")),
    "German 2": (("Filialen", "Filialnummer", "Filiale"), ("Mitarbeiter", "Personalnr", "mitarbeiter_nr")),
    "French": (("fournisseurs", "code_fournisseur", "fournisseur"), ("clients", "num_client", "client")),
    "Spanish": (("proveedores", "codigo_proveedor", "cod_proveedor"), ("clientes", "id_cliente", "cliente")),
    "Portuguese": (("fornecedores", "codigo", "fornecedor"), ("produtos", "cod_produto", "produto")),
    "Italian": (("fornitori", "codice_fornitore", "fornitore"), ("articoli", "id_articolo", "articolo")),
    "Dutch": (("leveranciers", "leveranciersnummer", "leverancier"), ("klanten", "klantnr", "klant")),
    "Swedish": (("kunder", "kundnummer", "kund"), ("avdelningar", "avdelning_id", "avdelning")),
    "Finnish": (("asiakkaat", "asiakasnumero", "asiakas"), ("tuotteet", "tuotekoodi", "tuote")),
    "Polish": (("klienci", "nr_klienta", "klient"), ("produkty", "kod_produktu", "produkt")),
    "Czech": (("zakaznici", "cislo_zakaznika", "zakaznik"), ("sklady", "id_skladu", "sklad")),
    "Turkish": (("musteriler", "musteri_no", "musteri"), ("urunler", "urun_kodu", "urun")),
    "Indonesian": (("pelanggan", "kode_pelanggan", "pelanggan"), ("barang", "nomor_barang", "barang")),
    "Russian": (("клиенты", "код_клиента", "клиент"), ("товары", "номер_товара", "товар")),
    "Chinese": (("客户", "客户编号", "客户"), ("产品", "产品编号", "产品")),
    "Japanese": (("顧客", "顧客番号", "顧客"), ("商品", "商品コード", "商品")),
}
"""Language → two things: the table, its key, and the header of what refers to it."""

NUMBERS = {
    "1 to n": lambda rng, n: np.arange(1, n + 1),
    "1001 to 1000 + n": lambda rng, n: np.arange(1001, 1001 + n),
    "six digits": lambda rng, n: rng.choice(np.arange(100_000, 1_000_000), n, replace=False),
}
"""Kinds of keys."""

_SERIALS = ("id", "nr", "no", "Unnamed: 0", "row", "index", "#", "lfd")


@dataclass(frozen=True)
class NumberCase:
    """A made database, and its queries.

    Parameters
    ----------
    language, numbers : str
        Keys of `WORDS` and `NUMBERS`.
    tables : dict of str to DataFrame
    queries : list of (str, str, set of (str, str))
        Table, column, and the columns of other tables with which it belongs together. All others share its values by
        chance.
    """

    language: str
    numbers: str
    tables: dict[str, pd.DataFrame]
    queries: list[tuple[str, str, set[tuple[str, str]]]]


def number_cases(seed: int = 5) -> Iterator[NumberCase]:
    """Make the databases, one for each language and kind of numbers."""
    rng = np.random.default_rng(seed)
    for language, things in WORDS.items():
        for numbers, make in NUMBERS.items():
            yield _make_case(rng, language, numbers, things, make)


def _make_case(rng, language, numbers, things, make) -> NumberCase:
    """Make one database."""
    n_facts = int(rng.integers(800, 3000))
    tables, references, queries = {}, {}, []
    serials = rng.permutation(np.array(_SERIALS, object)).tolist()
    for table, key, reference in things:
        n = int(rng.integers(60, 700))
        values = make(rng, n)
        tables[table] = pd.DataFrame(
            {key: values, "text": [f"{table} {i}" for i in range(n)], "total": rng.integers(0, 500, n)}
        )
        references[reference] = rng.choice(values, n_facts)
    facts = pd.DataFrame({serials[0]: range(1, n_facts + 1)} | references | {"amount": rng.integers(0, 900, n_facts)})
    tables["facts"] = facts
    for name, n in (("weather", 365), ("survey", int(rng.integers(50, 3000))), ("scores", int(rng.integers(50, 900)))):
        measured = {
            "count": rng.integers(0, n, n),
            "points": rng.integers(0, 100, n),
            "name": [f"{name}{i}" for i in range(n)],
        }
        tables[name] = pd.DataFrame({serials.pop(): range(1, n + 1)} | measured)
    for table, key, reference in things:
        queries.append(("facts", reference, {(table, key)}))
        queries.append((table, key, {("facts", reference)}))
    queries += [("survey", str(tables["survey"].columns[0]), set()), ("scores", "points", set())]
    return NumberCase(language, numbers, tables, queries)
