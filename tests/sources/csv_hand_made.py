"""Delimited files written by hand after exports of banks, spreadsheets, instruments and offices, with their truth."""

from __future__ import annotations

from typing import Any

__all__ = ["HAND_MADE"]

_Rows = tuple[tuple[Any, ...], ...]


def _case(
    name: str, text: str, columns: str, rows: _Rows, encoding: str = "utf-8"
) -> tuple[str, bytes, tuple[str, ...], _Rows]:
    return name, text.encode(encoding), tuple(columns.split("|")), rows


HAND_MADE = (
    _case("invoices.csv", "Rechnung;Kunde;Betrag\nR0;1001;0,50\nR1;1002;1,50\nR2;1003;2,50\n", "Rechnung|Kunde|Betrag",
          (("R0", 1001, 0.5), ("R1", 1002, 1.5), ("R2", 1003, 2.5))),
    _case("one_decimal_column.csv", "x;y\n1;0,5\n2;1,5\n3;2,5\n4;9,5\n", "x|y", ((1, 0.5), (2, 1.5), (3, 2.5), (4, 9.5))),
    _case("addresses.csv", "id;adresse;plz\n1;Hauptstr. 1, Berlin;10115\n2;Am Markt 2, Bonn;53111\n3;Weg 3, Ulm;89073\n", "id|adresse|plz",
          ((1, "Hauptstr. 1, Berlin", 10115), (2, "Am Markt 2, Bonn", 53111), (3, "Weg 3, Ulm", 89073))),
    _case("one_column_addresses.csv", "address\n12 Main St, Springfield\n7 Oak Ave, Salem\n1 Elm Rd, Dover\n", "address",
          (("12 Main St, Springfield",), ("7 Oak Ave, Salem",), ("1 Elm Rd, Dover",))),
    _case("one_column_names.csv", "name\nparis\nlyon\nnice\n", "name", (("paris",), ("lyon",), ("nice",))),
    _case("one_column_numbers.csv", "value\n3\n5\n8\n", "value", ((3,), (5,), (8,))),
    _case("quoted_newlines.csv", 'id,note,n\n1,"two\nlines",5\n2,"a, b",6\n3,"three\nmore\nlines",7\n', "id|note|n",
          ((1, "two\nlines", 5), (2, "a, b", 6), (3, "three\nmore\nlines", 7))),
    _case("semicolons_in_text.csv", "id,authors,year\n1,Lee; Kim; Wu,1999\n2,Abe; Ito; Ono,2001\n3,Roy; Sen; Das,2004\n", "id|authors|year",
          ((1, "Lee; Kim; Wu", 1999), (2, "Abe; Ito; Ono", 2001), (3, "Roy; Sen; Das", 2004))),
    _case("two_rows.csv", "Name;Preis\nBrot;3,20\n", "Name|Preis", (("Brot", 3.2),)),
    _case("bank_preamble.csv",
          "Kontonummer;DE02 1203 0000\nZeitraum;01.01.2022 - 31.01.2022\nKontostand;1.234,56\n\n"
          "Buchungstag;Wertstellung;Verwendungszweck;Betrag;Saldo\n"
          "03.01.2022;03.01.2022;Miete Januar;-850,00;384,56\n04.01.2022;04.01.2022;Gehalt, Firma;2.500,00;2.884,56\n"
          "07.01.2022;07.01.2022;Strom;-65,10;2.819,46\n",
          "Buchungstag|Wertstellung|Verwendungszweck|Betrag|Saldo",
          (("03.01.2022", "03.01.2022", "Miete Januar", -850.0, 384.56), ("04.01.2022", "04.01.2022", "Gehalt, Firma", 2500.0, 2884.56),
           ("07.01.2022", "07.01.2022", "Strom", -65.1, 2819.46)), "cp1252"),
    _case("bank_card.csv",
          '"Kreditkarte:";"4998 **** **** 1234";\n"Von:";"01.02.2022";\n\n"Beleg";"Betrag (EUR)";"Beschreibung";\n'
          '"01.02.2022";"-12,90";"KINO";\n"05.02.2022";"-1.045,00";"REISE, MEER";\n"06.02.2022";"-3,10";"KIOSK";\n',
          "Beleg|Betrag (EUR)|Beschreibung|Unnamed: 3",
          (("01.02.2022", -12.9, "KINO", None), ("05.02.2022", -1045.0, "REISE, MEER", None), ("06.02.2022", -3.1, "KIOSK", None))),
    _case("instrument.csv", "# Logger 7\n# site: north, roof\n# start 2020-01-01\ntime,temp,hum\n,°C,%\n00:00,1.5,80\n00:10,1.7,79\n00:20,1.8,77\n",
          "time|temp °C|hum %", (("00:00", 1.5, 80), ("00:10", 1.7, 79), ("00:20", 1.8, 77))),
    _case("comment_header.tsv", "#chrom\tstart\tend\nchr1\t100\t200\nchr1\t300\t450\nchr2\t5\t90\n", "#chrom|start|end",
          (("chr1", 100, 200), ("chr1", 300, 450), ("chr2", 5, 90))),
    _case("r_row_names.csv", '"mpg","cyl"\n"Mazda",21.0,6\n"Datsun",22.8,4\n"Valiant",18.1,6\n', "Unnamed: 0|mpg|cyl",
          (("Mazda", 21.0, 6), ("Datsun", 22.8, 4), ("Valiant", 18.1, 6))),
    _case("pandas_index.csv", ",a,b\n0,1.5,x\n1,2.5,y\n2,3.5,z\n", "Unnamed: 0|a|b", ((0, 1.5, "x"), (1, 2.5, "y"), (2, 3.5, "z"))),
    _case("years.csv", "Land;2019;2020;2021\nBayern;1,5;2,5;3,5\nHessen;2,0;3,0;4,0\nBerlin;1,1;1,2;1,3\n", "Land|2019|2020|2021",
          (("Bayern", 1.5, 2.5, 3.5), ("Hessen", 2.0, 3.0, 4.0), ("Berlin", 1.1, 1.2, 1.3))),
    _case("wide_dates.csv", "country,2020-01-22,2020-01-23\nItaly,0,2\nSpain,1,4\nPeru,0,0\n", "country|2020-01-22|2020-01-23",
          (("Italy", 0, 2), ("Spain", 1, 4), ("Peru", 0, 0))),
    _case("trailing.csv", "a;b;\n1;2;\n3;4;\n5;6;\n", "a|b|Unnamed: 2", ((1, 2, None), (3, 4, None), (5, 6, None))),
    _case("total_row.csv", "Artikel;Menge;Preis\nStift;10;1,20\nHeft;5;2,40\nMappe;2;12,00\nSumme;17;15,60\n", "Artikel|Menge|Preis",
          (("Stift", 10, 1.2), ("Heft", 5, 2.4), ("Mappe", 2, 12.0), ("Summe", 17, 15.6))),
    _case("ragged.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n9,10,11\n", "a|b|c", ((1, 2, 3), (4, 5, None), (6, 7, 8), (9, 10, 11))),
    _case("single_quotes.csv", "name,kind,n\n'build, wind',a,1\n'head, lamp','b',2\n'vehic, wind','c',3\n", "name|kind|n",
          (("build, wind", "a", 1), ("head, lamp", "b", 2), ("vehic, wind", "c", 3))),
    _case("versions.csv", "app;version;price\nedit;1.2;0,50\npaint;2.10;1,25\nplay;3.4;9,99\n", "app|version|price",
          (("edit", 1.2, 0.5), ("paint", 2.1, 1.25), ("play", 3.4, 9.99))),
    _case("ip.csv", "host;ip;load\na;192.168.100.200;0,5\nb;10.1.2.3;1,5\nc;172.16.0.1;2,5\n", "host|ip|load",
          (("a", "192.168.100.200", 0.5), ("b", "10.1.2.3", 1.5), ("c", "172.16.0.1", 2.5))),
    _case("sheets_pl.csv", 'produkt,cena,waga\nmleko,"3,49","1,0"\nchleb,"5,20","0,75"\nser,"24,90","0,3"\n', "produkt|cena|waga",
          (("mleko", 3.49, 1.0), ("chleb", 5.2, 0.75), ("ser", 24.9, 0.3))),
    _case("pipes.csv", "id|text|n\n1|a, b; c|5\n2|d, e; f|6\n3|g, h; i|7\n", "id|text|n", ((1, "a, b; c", 5), (2, "d, e; f", 6), (3, "g, h; i", 7))),
    _case("population.csv", 'Land;Einwohner;Fläche\nBayern;13.125.000;70.550,2\nBremen;680.130;419,4\nSaarland;983.991;2.571,1\n', "Land|Einwohner|Fläche",
          (("Bayern", 13125000, 70550.2), ("Bremen", 680130, 419.4), ("Saarland", 983991, 2571.1)), "cp1252"),
    _case("headerless_texts.csv", "fr,paris,city\nfr,lyon,city\nit,rome,city\nit,pisa,town\nfr,nice,town\n", "column_0|column_1|column_2",
          (("fr", "paris", "city"), ("fr", "lyon", "city"), ("it", "rome", "city"), ("it", "pisa", "town"), ("fr", "nice", "town"))),
    _case("dutch.csv", "Datum;Naam;Bedrag (EUR)\n20220103;Albert Heijn, Utrecht;12,50\n20220104;NS;7,30\n20220105;Café België;18,00\n", "Datum|Naam|Bedrag (EUR)",
          ((20220103, "Albert Heijn, Utrecht", 12.5), (20220104, "NS", 7.3), (20220105, "Café België", 18.0)), "cp1252"),
    _case("russia.csv", "Город;Население;Доля\nМосква;12 655 050;8,6\nКазань;1 257 341;0,9\nСочи;466 078;0,3\n", "Город|Население|Доля",
          (("Москва", 12655050, 8.6), ("Казань", 1257341, 0.9), ("Сочи", 466078, 0.3)), "cp1251"),
    _case("turkey.csv", "Şehir;Nüfus;Oran\nİstanbul;15.840.900;18,7\nIğdır;203.594;0,2\nMuğla;1.021.141;1,2\n", "Şehir|Nüfus|Oran",
          (("İstanbul", 15840900, 18.7), ("Iğdır", 203594, 0.2), ("Muğla", 1021141, 1.2)), "cp1254"),
)  # fmt: skip
