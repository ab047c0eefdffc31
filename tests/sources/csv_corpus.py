"""A corpus of delimited files of many conventions, each beside what a person reads in it.

Most are generated: a country's marks, dates, delimiters and encodings around the same kinds of tables. The others are
written by hand after exports that people get from spreadsheets, banks, instruments and offices.
"""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.sources.csv_hand_made import HAND_MADE

__all__ = ["Case", "corpus"]


@dataclass(frozen=True)
class Case:
    """A file, and its columns and rows; numbers are numbers, a null or an empty cell is None."""

    name: str
    data: bytes
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Country:
    """How a country writes."""

    code: str
    delimiters: str
    decimal: str
    thousands: str
    date: str
    encodings: tuple[str, ...]
    names: tuple[str, ...]
    headers: tuple[str, ...]


COUNTRIES = (
    Country("de", ";;\t", ",", ".", "%d.%m.%Y", ("utf-8", "cp1252", "utf-8-sig"),
            ("Müller GmbH", "Straße & Söhne", "Bäckerei Groß", "Weiß, Klaus", "Jörg Öhl", "Anna Lange"),
            ("Kunde", "Datum", "Menge", "Betrag", "Bemerkung")),
    Country("fr", ";;\t", ",", "\u202f", "%d/%m/%Y", ("utf-8", "cp1252", "utf-8-sig"),
            ("Société Générale", "Café de l'Été", "Hôtel du Nord", "Garçon, Élise", "Benoît Noël", "Marie Curie"),
            ("Client", "Date", "Quantité", "Montant", "Remarque")),
    Country("it", ";;|", ",", ".", "%d/%m/%Y", ("utf-8", "cp1252"),
            ("Città di Torino", "Perché no", "Rossi, Mario", "Università", "Nicolò Verdi", "Lucia Bianchi"),
            ("Cliente", "Data", "Quantità", "Importo", "Nota")),
    Country("es", ";;\t", ",", ".", "%d/%m/%Y", ("utf-8", "cp1252"),
            ("Peña Nieto", "Compañía Núñez", "García, José", "Camión Azul", "Lucía Ibáñez", "Ana Torres"),
            ("Cliente", "Fecha", "Cantidad", "Importe", "Observación")),
    Country("br", ";;,", ",", ".", "%d/%m/%Y", ("utf-8", "cp1252", "utf-8-sig"),
            ("São Paulo", "João Conceição", "Feijão Ltda", "Maçã, Inês", "Água Mineral", "Pedro Alves"),
            ("Cliente", "Data", "Quantidade", "Valor", "Observações")),
    Country("pl", ";;\t", ",", " ", "%Y-%m-%d", ("utf-8", "cp1250"),
            ("Łódź Główna", "Święty Paweł", "Żółć Sp. z o.o.", "Kowalski, Józef", "Grażyna Ćwik", "Adam Nowak"),
            ("Klient", "Data", "Ilość", "Kwota", "Uwagi")),
    Country("cz", ";;\t", ",", "\xa0", "%d.%m.%Y", ("utf-8", "cp1250"),
            ("Příliš žluťoučký", "Kůň a syn", "Dvořák, Antonín", "Plzeň město", "Šárka Nováková", "Jan Hus"),
            ("Zákazník", "Datum", "Množství", "Částka", "Poznámka")),
    Country("se", ";;\t", ",", " ", "%Y-%m-%d", ("utf-8", "cp1252", "utf-16"),
            ("Malmö Åkeri", "Björk & Söner", "Ängström, Åsa", "Göteborg hamn", "Örjan Sjö", "Karin Berg"),
            ("Kund", "Datum", "Antal", "Belopp", "Anmärkning")),
    Country("ch", ";;\t", ".", "'", "%d.%m.%Y", ("utf-8", "cp1252"),
            ("Zürich Süd", "Genève Café", "Bürgi, Urs", "Käserei Uri", "Hervé Blanc", "Reto Frei"),
            ("Kunde", "Datum", "Menge", "Betrag CHF", "Bemerkung")),
    Country("in", ",,\t", ".", ",", "%d-%m-%Y", ("utf-8",),
            ("Tata & Sons", "Sharma, Ravi", "Bengal Mills", "Priya Nair", "Delhi Traders", "A. Khan"),
            ("Customer", "Date", "Quantity", "Amount (Rs)", "Remark")),
    Country("us", ",,\t|", ".", ",", "%m/%d/%Y", ("utf-8", "utf-16", "utf-8-sig"),
            ("Acme, Inc.", "Joe's Diner", "Smith & Co", "Lee, Ann", "Main Street LLC", "O'Hara"),
            ("Customer", "Date", "Quantity", "Amount", "Note")),
    Country("uk", ",,\t", ".", ",", "%d/%m/%Y", ("utf-8", "cp1252"),
            ("Café Rouge", "Marks & Sons", "Brontë, Anne", "York Mills", "The Crown", "J. Doe"),
            ("Customer", "Date", "Quantity", "Amount", "Note")),
    Country("jp", ",,\t", ".", ",", "%Y/%m/%d", ("utf-8", "cp932"),
            ("東京商店", "大阪工業", "北海道の魚", "さくら銀行", "ヤマダ電機", "京都堂"),
            ("顧客", "日付", "数量", "金額", "備考")),
)  # fmt: skip

TEXTS = (
    "", "ok", "a; b; c", "to call, twice", "see page 3", "delivered; paid", "n. 5", "first, second; third", "x | y", "12 Main St, York",
)  # fmt: skip


def _spell(number: float, country: Country, thousands: str) -> str:
    text = f"{number:,.2f}"
    if country.code == "in" and abs(number) >= 100_000:
        whole, point, rest = text.replace(",", "").partition(".")
        head, tail = whole[:-3], whole[-3:]
        pairs = [head[max(0, i - 2) : i] for i in range(len(head), 0, -2)][::-1]
        text = ",".join([*pairs, tail]) + point + rest
    marks = {",": thousands, ".": country.decimal}
    return "".join(marks.get(c, c) for c in text)


def _write(rows: list[list[str]], delimiter: str, quotes: str, end: str) -> str:
    def cell(text: str) -> str:
        must = any(c in text for c in (delimiter, '"', "\n", "\r")) or text.startswith(" ")
        return '"' + text.replace('"', '""') + '"' if must or quotes == "all" else text

    return end.join(delimiter.join(map(cell, row)) for row in rows) + end


def _generated(country: Country, variant: int, seed: int) -> Case:
    """Make a file of a country; the variant chooses what stands around the table."""
    draw = random.Random(f"{country.code}/{variant}/{seed}")
    shape = (
        "plain",
        "plain",
        "title",
        "bank",
        "comment",
        "sep",
        "padded",
        "units",
        "headerless",
        "groups",
        "short",
        "codes",
    )[variant]
    n_rows = 2 if shape == "short" else draw.choice((4, 12, 40, 150))
    delimiter = ";" if shape == "sep" else draw.choice(country.delimiters)
    if country.decimal == "," and delimiter == ",":
        quotes = "all"
    else:
        quotes = draw.choice(("few", "few", "all"))
    grouped = draw.random() < 0.6 and shape != "short"
    encoding = draw.choice(country.encodings)
    thousands = (
        (country.thousands if encoding.startswith("utf") else country.thousands.replace("\u202f", "\xa0"))
        if grouped
        else ""
    )
    columns = [country.headers[0], "Nr", *country.headers[1:]]
    truth, cells = [], []
    start = datetime.date(2021, 1, 1)
    for i in range(n_rows):
        date = start + datetime.timedelta(days=draw.randrange(700))
        quantity = draw.randrange(1, 5_000)
        amount = round(draw.choice((1, 30, 2_000, 400_000)) * draw.random() + 0.01, 2)
        name, text = draw.choice(country.names), draw.choice(TEXTS)
        code = f"{i + 1:05d}" if shape == "codes" else 1001 + 3 * i
        truth.append((name, code, date.strftime(country.date), quantity, amount, text or None))
        cells.append(
            [name, str(code), date.strftime(country.date), str(quantity), _spell(amount, country, thousands), text]
        )
    rows = [columns, *cells]
    if shape == "headerless":
        rows, columns = cells, [f"column_{i}" for i in range(6)]
    if shape == "units":
        rows.insert(1, ["", "", "", "kg", "EUR", ""])
        columns = [*columns[:3], columns[3] + " kg", columns[4] + " EUR", columns[5]]
    if shape == "groups":
        rows = [["", "", "2021", "", "", ""], *rows]
        columns = [*columns[:2], *(f"2021 {name}" for name in columns[2:])]
    if shape == "padded":
        rows = [[*row, "", ""] for row in rows]
        columns = [*columns, "Unnamed: 6", "Unnamed: 7"]
        truth = [(*row, None, None) for row in truth]
    end = draw.choice(("\n", "\r\n"))
    text = _write(rows, delimiter, quotes, end)
    above = {
        "title": f"{country.headers[0]} 2021{end}{end}",
        "bank": end.join(
            f"{key}{delimiter}{value}"
            for key, value in (("IBAN", "XX12 3456"), ("Owner", country.names[5]), ("Period", "2021"))
        )
        + end
        + end,
        "comment": f"# made by the shop{end}# version 3{end}",
        "sep": f"sep={delimiter}{end}",
    }.get(shape, "")
    name = f"{country.code}_{shape}_{variant}_{seed}.csv"
    return Case(name, (above + text).encode(encoding), tuple(columns), tuple(truth))


def corpus(seeds: tuple[int, ...] = (0,)) -> Iterator[Case]:
    """Yield the cases; each seed draws other tables, and the cases made by hand come with the first."""
    for seed, country, variant in itertools.product(seeds, COUNTRIES, range(12)):
        yield _generated(country, variant, seed)
    if 0 in seeds:
        yield from (Case(name, data, columns, rows) for name, data, columns, rows in HAND_MADE)
