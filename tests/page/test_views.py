"""Pages without a script: what a search, a join, a review and the lake show, and what a person can choose."""

import ast
import re
import shlex
import time
from fractions import Fraction
from html import unescape
from pathlib import Path

import httpx
import pandas as pd
import pytest

import dfjoin
from dfjoin.cli.main import main
from dfjoin.page.column_cards import column_cards
from dfjoin.page.hit_search import _named
from dfjoin.page.page_texts import TEXTS
from dfjoin.page.rendering import cell_text, environment
from dfjoin.page.review_views import differences
from dfjoin.page.serve import explore
from dfjoin.page.steps import JoinFound, JoinPaired
from tests.conftest import PROJECT
from tests.page.test_simple_steps import STEPS

AUTOFJ = Path(PROJECT).parent / "shared" / "benchmarks" / "autofj"


def plain(html):
    """The text of a page, blanks made one."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.fixture
def start(client):
    """Bring cells; return the path of their state."""
    return lambda text: client.post("/paste", data={"cells": text}).url.path


def test_a_search_shows_what_discover_joinable_finds(client, people, example_lake):
    frame = pd.DataFrame({"country": ["Peru", "japan", "Norway ", "Narnia", "Peru"], "name": list("abcde")})
    hits = frame.discover_joinable("country", example_lake, k=50, min_score=0.5)
    page = client.get(f"{people}/search?on=country&view=table").text
    tables = re.findall(r'<td><a href="[^"]*">([^<]+)</a></td>', page)
    assert tables == hits["table"].tolist()
    assert f"{len(hits)} tables join" in plain(page)
    weak = client.get(f"{people}/search?on=country&least=chance&view=table").text
    assert len(re.findall(r"<tr><td>", weak)) >= len(hits)


def test_what_a_search_warns_of_is_told_each_time(client, start):
    codes = ["2108", "10001", "19103", "80202", "90012", "60601", "98101", "30303", "3301", "75201", "4330"]
    state = start("Postal\tn\n" + "\n".join(f"{code}\t{i}" for i, code in enumerate(codes)))
    assert "dtype=str" not in client.get(state).text
    fields = {"on": "Postal"}
    told = [client.get(f"{state}/search", params=fields).text.count('class="note attention"') for _ in range(2)]
    assert told[0] == told[1] == 1


def test_hits_are_narrowed_down(client, people):
    page = plain(client.get(f"{people}/search?on=country&folder=codes").text)
    assert "codes/calling_codes.csv" in page and "geo/countries.csv" not in page and " of " in page
    page = plain(client.get(f"{people}/search?on=country&word=capital").text)
    assert "geo/countries.csv" in page and "codes/calling_codes.csv" not in page
    assert "0 tables join" in plain(client.get(f"{people}/search?on=country&verdict=weak").text)


def test_a_hit_says_why_it_was_found(client, people):
    fields = {"on": "country", "table": "geo/countries.csv", "column": "country"}
    page = plain(client.get(f"{people}/evidence", params=fields).text)
    assert "Lima" in page and "Narnia" in page and "the headers are the same" in page
    assert "Nearest value of the table" in plain(client.get(f"{people}/alone", params=fields).text)


def test_a_family_is_listed(build):
    years = {f"y/{year}": pd.DataFrame({"land": LANDS, "value": range(len(LANDS))}) for year in (2020, 2021, 2022)}
    page = explore(build(years), pd.DataFrame({"country": LANDS[:9]}), open_browser=False)
    with httpx.Client(follow_redirects=True) as browser:
        state = browser.get(page.url).url.path
        base = page.url.split("/s/")[0]
        text = browser.get(f"{base}{state}/search?on=country&least=weak").text
        assert "2 similar" in plain(text)
        link = re.search(r'hx-get="([^"]*/family[^"]*)"', text)[1].replace("&amp;", "&")
        assert plain(browser.get(base + link).text).count("y/202") == 3
    page.stop()


LANDS = ["Peru", "Chad", "Oman", "Mali", "Togo", "Cuba", "Fiji", "Iraq", "Iran", "Laos", "Niue"]


def test_rules_and_disagreeing_rows_of_a_join(client, start):
    state = start("country\tn\nGermany\t1\nJapan\t2\nFrance\t3\n")
    fields = {"on": "country", "table": "transport/airports.csv", "column": "country", "least": "chance"}
    page = client.get(f"{state}/join", params=fields).text
    assert "several rows for each of yours" in page and 'name="rule.city"' in page
    told = re.search(r'href="([^"]*/disagreeing[^"]*show=city)"', page)[1].replace("&amp;", "&")
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", client.get(told).text)
    assert len(cells) >= 4 and set(cells[::2]) <= {"Germany", "Japan", "France"}
    first = client.get(f"{state}/join", params=fields | {"chosen": "1", "bring": ["city"], "rule.city": "first"}).text
    assert (
        'value="first" selected' in first
        and "iata" not in re.search(r"<thead>.*?</thead>", first.split('id="rows-title"')[1], re.S)[0]
    )


def test_ways_of_an_index_that_is_not_prepared_say_so_with_the_command(build, capsys):
    df = pd.DataFrame({"country": LANDS})
    lake = build({"a b": pd.DataFrame({"land": LANDS, "n": range(len(LANDS))})}, settings={"permutations": 0})
    page = explore(lake, df, open_browser=False)
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        state = str(browser.get(page.url).url)
        for way in ("large", "program", "meaning"):
            told = browser.get(f"{state}/search?on=country&way={way}").text
            assert "The index is not prepared for this" in told and '/radius"' not in told
            command = unescape(re.search(r'<pre class="code"[^>]*>(.*?)</pre>', told)[1])
            assert main(shlex.split(command)[1:]) == 0
            told = browser.get(f"{state}/search?on=country&way={way}").text
            newer = "Another process has written version"
            assert newer in browser.get(f"{state.split('/s/')[0]}/lake").text
            assert newer in told and "dfjoin add-" not in told
            base, path = state.split("/s/")[0], unescape(re.search(r'name="to" value="([^"]*)"', told)[1])
            refreshed = browser.post(f"{base}/lake/refresh", data={"to": path}, headers={"Origin": base})
            assert refreshed.url.path.endswith("/search") and "not prepared" not in refreshed.text
        away = browser.post(f"{base}/lake/refresh", data={"to": "//example.org/s/"}, headers={"Origin": base})
        assert str(away.url) == f"{base}/lake"
    page.stop()
    capsys.readouterr()


def test_places_are_a_way_for_a_key_of_several_columns(client, people):
    assert "way=places" not in client.get(f"{people}/search?on=country").text
    assert "way=places" in client.get(f"{people}/search?on=country&on=born").text
    told = client.get(f"{people}/search?on=country&on=born&way=places").text
    assert "add_axes" in told or "not prepared" not in told
    assert "dfjoin add-vectors" not in told


def test_spelling_needs_no_preparation(client, people):
    assert plain(client.get(f"{people}/search?on=country&way=spelling&radius=0.3").text).count("geo/countries.csv")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "No column is chosen. Choose at least one as the key."),
        ("on=land", "`on` must name columns of the table ('name', 'country', 'born'), got 'land'"),
        ("on=country&way=magic", "`way` must be one of 'equal', 'large'"),
        ("on=country&least=best", "`least` must be one of 'strong', 'plausible', 'weak', 'chance', got 'best'"),
        ("on=country&way=places", "Places are matched by two columns. Choose both as the key"),
        ("on=country&way=spelling&radius=near", "`radius` must be a number, got 'near'"),
        ("on=country&pad=x", "`pad` must be a whole number from 1 to 38, got 'x'"),
        ("on=country&period=age", "`period` must be one of 'none', 'year', 'quarter'"),
        ("on=country&pad=inf", "`pad` must be a whole number from 1 to 38, got 'inf'"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(client, people, query, text):
    answer = client.get(f"{people}/search?{query}")
    assert answer.status_code == 400
    assert text in plain(answer.text).replace("&#39;", "'")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/join?on=country&table=none.csv&column=x", "the search does not find"),
        ("/join?on=country&table=geo/countries.csv&column=country&how=upper", "`how` must be one of 'left', 'inner'"),
        ("/evidence?on=country&table=none.csv&column=x", "`table` and `column` must name a hit of the search"),
        ("/family?on=country&table=none.csv&column=x", "`table` and `column` must name a hit of the search"),
        (
            "/review?on=land&table=geo/countries.csv&column=country",
            "`on` and `table` must name a column of the table and",
        ),
        (
            "/review?on=country&table=geo/countries.csv&column=country&precision=x",
            "`precision` must be a number from 0 to 1",
        ),
    ],
)
def test_a_hit_that_is_none_is_refused(client, people, path, text):
    answer = client.get(people + path)
    assert answer.status_code == 400 and text in plain(answer.text).replace("&#39;", "'")


@pytest.mark.parametrize(
    ("path", "form", "text"),
    [
        ("/upload", {}, "No file is chosen. Choose one"),
        ("/paste", {"cells": " \n"}, "Nothing is pasted. Paste the cells"),
        ("/start", {"table": "none.csv"}, "none.csv"),
        ("{state}/change", {"kind": "jump"}, "The form names no step of the table"),
        (
            "{state}/change",
            {"kind": "filter", "column": "born", "operator": "<", "value": "soon"},
            "`value` must be of the type",
        ),
        (
            "{state}/change",
            {"kind": "filter", "column": "brn", "operator": "<", "value": "1"},
            "needs the column 'brn', and the table has 'name', 'country', 'born'; did you mean 'born'?",
        ),
        ("{state}/remove", {"at": "7"}, "The form names no step of the table"),
    ],
)
def test_forms_that_make_no_sense_are_refused(client, people, path, form, text):
    answer = client.post(path.format(state=people), data=form)
    assert answer.status_code == 400 and text in plain(answer.text).replace("&#39;", "'")


def test_only_a_file_is_read_in_another_way(client):
    state = client.post("/start", data={"table": "geo/capitals.csv"}).url.path
    answer = client.post(f"{state}/read", data={"delimiter": ";"})
    assert answer.status_code == 400 and "only a file that was brought can be read in another way" in answer.text


def test_a_step_is_changed_and_the_rest_runs_again(client, people, wide):
    last = client.post(f"{wide}/change", data={"kind": "rename", "column": "capital", "name": "seat"}).url.path
    name = last.removeprefix("/s/")
    form = {
        "on": "country",
        "table": "geo/countries.csv",
        "column": "country",
        "how": "inner",
        "chosen": "1",
        "bring": ["capital", "iso2"],
    }
    changed = client.post(f"{people}/join", data=form | {"of": name, "at": "1"})
    steps = re.findall(r'<span class="kind">(\w+)</span>', changed.text)
    assert steps[:1] == ["Source"] and "Rename" in steps and "iso2" in changed.text and "seat" in changed.text
    assert "Narnia" not in changed.text
    without = client.post(f"{last}/remove", data={"at": "2"})
    assert without.url.path == wide


FORMS = [
    ({"kind": "filter", "column": "born", "operator": "≥", "value": "1985"}, ["born", "≥", "1985"]),
    ({"kind": "sort", "columns": ["born", "name"], "descending": "1"}, ["name", "born", "1"]),
    ({"kind": "rename", "column": "born", "name": "year"}, ["born", "year"]),
    ({"kind": "retype", "column": "born", "type": "text"}, ["born", "text"]),
    ({"kind": "drop", "columns": ["born"]}, ["born"]),
    ({"kind": "group", "columns": ["country"], "measure.born": "max"}, ["country", "max"]),
]
"""A step, and the values that its form has chosen when it is opened again."""


@pytest.mark.parametrize(("step", "chosen"), FORMS, ids=[step["kind"] for step, _ in FORMS])
def test_a_simple_step_is_opened_again_with_its_values(client, people, step, chosen):
    made = client.post(f"{people}/change", data=step)
    (link,) = re.findall(r'href="(/s/\w+/change\?[^"]*of=[^"]*)"', made.text)
    page = client.get(link.replace("&amp;", "&")).text
    first = re.search(r'<form method="post" action="[^"]*/change".*?</form>', page, re.DOTALL)[0]
    assert f'name="kind" value="{step["kind"]}"' in first and 'name="at" value="1"' in first
    assert "takes the place of a step" in page and f'href="{made.url.path}">Leave it as it is' in page
    told = [re.search(r'value="([^"]*)"', one)[1] for one in re.findall(r"<[^<>]* (?:selected|checked)>", first)]
    told += re.findall(r'<input id="[^"]*" name="[^"]*"(?: required)? value="([^"]*)"', first)
    assert sorted(told) == sorted(chosen)
    again = client.post(f"{people}/change", data=step | {"of": made.url.path[3:], "at": "1"})
    assert again.url == made.url, "the same step makes the same table"


def test_a_form_that_is_refused_keeps_what_was_typed(client, people):
    step = {"kind": "filter", "column": "born", "operator": "<", "value": "soon"}
    page = client.post(f"{people}/change", data=step)
    assert page.status_code == 400 and 'name="value" value="soon"' in page.text
    assert '<option value="born" selected>' in page.text and '<option value="&lt;" selected>' in page.text
    nothing = client.post(f"{people}/change", data={"kind": "sort"})
    assert nothing.status_code == 400 and "name at least one column to sort by" in nothing.text


def test_a_join_is_opened_again_with_its_choices(client, people):
    fields = {"on": "country", "least": "weak", "table": "geo/countries.csv", "column": "country", "how": "inner"}
    fields |= {"chosen": "1", "bring": ["capital", "iso2"], "rule.capital": "first"}
    state = client.post(f"{people}/join", data=fields).url.path
    last = client.post(f"{state}/change", data={"kind": "rename", "column": "capital", "name": "seat"})
    link = re.search(r'href="([^"]*/join[^"]*)">Change', last.text)[1].replace("&amp;", "&")
    page = client.get(link).text
    form = re.search(r'<form method="get" action="[^"]*/join".*?</form>', page, re.S)[0]
    told = re.findall(r'name="([^"]*)" (?:id="[^"]*" )?value="([^"]*)"(?: id="[^"]*")?( checked)?', form)
    chosen = {(name, value) for name, value, checked in told if checked or name not in ("how", "bring")}
    assert chosen >= {("how", "inner"), ("bring", "capital"), ("bring", "iso2"), ("least", "weak"), ("at", "1")}
    assert not chosen & {("how", "left"), ("bring", "continent")} and 'value="first" selected' in form
    review = re.search(r'href="([^"]*/review[^"]*)"', page)[1].replace("&amp;", "&")
    reviewed = client.get(review).text
    assert all(f'name="{name}" value="{value}"' in reviewed for name, value in chosen if name in ("of", "at"))
    assert {name for name, _ in chosen} >= {"of", "at"}
    sent = {name: [v for n, v in chosen if n == name] for name, _ in chosen} | {"bring": ["capital", "continent"]}
    changed = client.post(f"{people}/join", data=sent | {"rule.capital": "first"})
    assert re.findall(r'<span class="kind">(\w+)</span>', changed.text)[:3] == ["Source", "Join", "Rename"]
    header = re.search(r"<thead>.*?</thead>", changed.text.split('id="rows-title"')[1], re.S)[0]
    assert "seat" in header and "continent" in header and "iso2" not in header


def test_a_review_is_opened_again_with_its_answers(client, people):
    form = {"on": "country", "table": "geo/countries.csv", "column": "country", "precision": "0.7", "taught": "1"}
    form |= {"left": "Narnia", "right": "Norway", "said": "no", "accept": "1"}
    state = client.post(f"{people}/review", data=form)
    link = re.search(r'href="([^"]*/review[^"]*)">Change', state.text)[1].replace("&amp;", "&")
    page = client.get(link).text
    assert 'value="0.7"' in page and 'name="said" value="no"' in page and 'name="at" value="1"' in page


def test_dates_are_matched_by_a_period_that_is_chosen(build):
    days = pd.date_range("2020-01-01", periods=200)
    months = ["JAN 2020", "FEB 2020", "MAR 2020", "APR 2020", "MAY 2020", "JUN 2020", "JUL 2020"]
    tables = {
        "rates": pd.DataFrame({"month": months, "rate": range(7)}),
        "weather": pd.DataFrame({"date": days, "rain": range(200)}),
        "output": pd.DataFrame({"q": ["2020Q1", "2020Q2", "2020Q3"], "gdp": [1.5, 2.0, 3.0]}),
    }
    page = explore(build(tables), pd.DataFrame({"day": days, "n": range(200)}), open_browser=False)
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        state = str(browser.get(page.url).url)

        def found(period):
            text = browser.get(f"{state}/search", params={"on": "day", "view": "table", "period": period}).text
            return re.findall(r'<td><a href="[^"]*">([^<]+)</a></td>', text), plain(text)

        assert sorted(found("")[0]) == ["output", "rates", "weather"] and "Dates were found by" in found("")[1]
        assert [found(one)[0] for one in ("month", "quarter", "none")] == [["rates"], ["output"], ["weather"]]
        assert "No column was found so" in found("week")[1]
        assert "dates by month" in plain(browser.get(f"{state}/search?on=day&period=month").text)
        origin = {"Origin": state.split("/s/")[0]}
        form = {"on": "day", "period": "month", "table": "rates", "column": "month"}
        made = browser.post(f"{state}/join", data=form, headers=origin)
        joined = pd.read_csv(f"{made.url}/download/csv?x=1", storage_options={"Cookie": _cookie(browser)})
    page.stop()
    assert joined["rate__rates"].tolist() == (days.month - 1).tolist()


def test_a_period_is_searched_among_all_hits(build):
    days = pd.date_range("2000-01-01", periods=120, freq="61D")
    tables = {f"t{i:02}/x{i}": pd.DataFrame({f"day{i}": days, f"value{i}": range(i, 120 + i)}) for i in range(60)}
    tables["years/y"] = pd.DataFrame({"year": range(1999, 2021), "n": range(22)})
    page = explore(build(tables), pd.DataFrame({"day": days, "n": range(120)}), open_browser=False)
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        state = str(browser.get(page.url).url)
        told = {"on": "day", "view": "table", "least": "chance"}
        found = [
            re.findall(r'<td><a href="[^"]*">([^<]+)</a></td>', browser.get(f"{state}/search", params=one).text)
            for one in (told, told | {"period": "year"}, told | {"period": "none"})
        ]
    page.stop()
    assert "years/y" not in found[0] and found[1] == ["years/y"] and len(found[2]) == 50


def test_a_period_is_searched_within_a_family_too(build):
    days = pd.date_range("2020-01-01", periods=60)
    own = pd.DataFrame({"day": days, "month": ["JAN 2020", "FEB 2020"] * 30, "value": range(60)})
    others = own.assign(day=days + pd.Timedelta(days=9000))  # a year of its family whose days are others
    page = explore(build({"y/2020": others, "y/2021": own}), own[["day"]], open_browser=False)
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        state = str(browser.get(page.url).url)
        told = {"on": "day", "view": "table", "period": "month"}
        text = browser.get(f"{state}/search", params=told).text
    page.stop()
    assert re.findall(r'<td><a href="[^"]*">([^<]+)</a></td>', text) == ["y/2020"]


def test_a_removed_step_that_others_need_is_told(client, wide):
    last = client.post(f"{wide}/change", data={"kind": "rename", "column": "capital", "name": "seat"}).url.path
    answer = client.post(f"{last}/remove", data={"at": "1"})
    assert answer.status_code == 409 and "It is step 1 of 1." in plain(answer.text)
    assert "needs the column" in answer.text


def test_the_lake_shows_its_graph_and_paths(client):
    page, end = client.get("/lake/graph?table=geo/countries.csv").text, time.monotonic() + 60
    while "The join graph is being made" in page and time.monotonic() < end:
        time.sleep(0.2)
        page = client.get("/lake/graph?table=geo/countries.csv").text
    assert "<svg" in page and "continents.csv" in page
    assert "No table is likely" in client.get("/lake/graph?table=geo/countries.csv&score=0.99").text
    assert "Path 1" in client.get("/lake/path?from=geo/countries.csv&to=geo/continents.csv").text
    assert "No likely keys" in client.get("/lake/path?from=geo/countries.csv&to=science/planets.csv").text
    for path in ("/lake/graph?table=none", "/lake/path?from=none&to=none", "/lake/table?name=none"):
        assert client.get(path).status_code == 400
    assert "can be" not in client.get("/lake/table?name=geo/countries.csv").text


def test_each_page_is_below_half_a_megabyte(client, start):
    wide = "\t".join(f"column_{i}" for i in range(300))
    rows = "\n".join("\t".join(f"{i}{j}x" for i in range(300)) for j in range(150))
    state = start(f"{wide}\n{rows}\n")
    sizes = {
        path: len(client.get(state + path).content) for path in ("", "/sql", "/change", "/leave", "/search?on=column_1")
    }
    assert max(sizes.values()) < 500_000, sizes


def test_pages_of_a_very_wide_table_are_below_half_a_megabyte(client):
    names = [f"a rather long name of a column, number {i}" for i in range(1500)]
    cells = f"{','.join(f'{chr(34)}{name}{chr(34)}' for name in names)}\n" + f"{','.join(map(str, range(1500)))}\n" * 2
    state = client.post("/upload", files={"file": ("wide.csv", cells.encode())}).url.path
    for path in ("", "/change", "/sql"):
        page = client.get(f"{state}{path}")
        assert page.status_code == 200 and len(page.content) < 500_000, path
    assert "The first 200 columns are offered" in client.get(f"{state}/change").text


def test_a_file_is_read_once(client, monkeypatch):
    from dfjoin.page import work

    read, calls = work.read_given, []
    monkeypatch.setattr(work.Work._read, "__defaults__", (lambda *given: calls.append(given) or read(*given),))
    monkeypatch.setattr(work.Work.start_with_file, "__defaults__", (work.Work._read.__defaults__[0],))
    page = client.post("/upload", files={"file": ("once.csv", b"land,n\nPeru,1\nChad,2\n")})
    assert "Read as" in page.text and len(calls) == 1


@pytest.mark.skipif(not AUTOFJ.is_dir(), reason="the cases of Auto-FuzzyJoin are not beside the project")
def test_a_review_raises_the_precision_of_a_fuzzy_join(build):
    """The answers are those of the truth, for the thirty pairs that are shown first."""
    left, right, truth = (
        pd.read_csv(AUTOFJ / "BasketballTeam" / f"{name}.csv", dtype=str) for name in ("right", "left", "truth")
    )
    pairs = set(zip(truth["right_key"], truth["left_key"], strict=True))
    page = explore(
        build({"teams": right[["title"]].rename(columns={"title": "team"})}), left[["title"]], open_browser=False
    )
    with httpx.Client(follow_redirects=True, timeout=120) as browser:
        state = str(browser.get(page.url).url)
        browser.headers["Origin"] = state.split("/s/")[0]
        form = {"on": "title", "table": "teams", "column": "team", "precision": "0.8"}
        text = browser.get(f"{state}/review", params=form).text
        values = [re.findall(rf'name="{side}" value="([^"]*)"', text)[:30] for side in ("left", "right")]
        lefts, rights = ([value.replace("&#39;", "'").replace("&amp;", "&") for value in side] for side in values)
        said = {
            f"answer.{i}": "yes" if pair in pairs else "no" for i, pair in enumerate(zip(lefts, rights, strict=True))
        }
        made = browser.post(f"{state}/review", data=form | {"left": lefts, "right": rights, "accept": "1"} | said)
        reviewed = pd.read_csv(f"{made.url}/download/csv?x=1", storage_options={"Cookie": _cookie(browser)})
    page.stop()
    plain_join = dfjoin.auto_join(
        left[["title"]], right[["title"]], on="title", right_on="title", transform=True, fuzzy=True, precision=0.8
    )
    before = _precision(plain_join.iloc[:, :2], pairs)
    after = _precision(reviewed[["title", "team"]], pairs)
    assert sum(answer == "no" for answer in said.values()) >= 5 and after > before + 0.03


def _cookie(browser):
    return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


def _precision(joined, truth):
    found = set(joined.dropna().itertuples(index=False, name=None))
    return len(found & truth) / len(found)


# Pieces of pages --------------------------------------------------------------------------------------------


def test_columns_are_described():
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "text": ["a", "b", "a", None],
            "day": pd.to_datetime(["2024-01-01", "2024-01-05", None, "2024-01-09"]),
            "flag": [True, False, True, True],
            "list": [[1], [2], [1], None],
            "none": [None] * 4,
        }
    )
    cards = {card.name: card for card in column_cards(frame)}
    assert (
        cards["id"].is_key
        and cards["id"].kind == "whole number"
        and (cards["id"].lowest, cards["id"].highest) == ("1", "4")
    )
    assert cards["text"].frequent == [("a", 2), ("b", 1)] and cards["text"].n_null == 1 and not cards["text"].is_key
    assert cards["day"].kind == "date" and (cards["day"].lowest, cards["day"].highest) == ("2024-01-01", "2024-01-09")
    assert sum(height > 0 for height in cards["id"].heights) == 4 and max(cards["id"].heights) == 1
    assert cards["flag"].kind == "truth"
    assert cards["list"].n_distinct == -1 and cards["none"].n_distinct == 0


@pytest.mark.parametrize(
    "numbers",
    [
        [0, 1, 1, 2, 3, 160],
        [10**17, 10**17 + 16, 10**17 + 64],
        [-1.7e308, 0.0, 1.7e308, 1.6e308],
        [0.5, 2.5, 2.5, float("inf"), None],
        [0.5, float("inf")],
    ],
)
def test_a_histogram_counts_the_numbers_of_equally_wide_bins(numbers):
    (card,) = column_cards(pd.DataFrame({"n": numbers}))
    held = [Fraction(number) for number in numbers if number is not None and number != float("inf")]
    low, high = min(held), max(held)
    bins = [min(15, int(16 * (one - low) / (high - low))) for one in held] if high > low else []
    most = max(map(bins.count, bins), default=1)
    assert card.heights == pytest.approx([(bins.count(i) / most) ** 0.5 for i in range(16)] if bins else [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (pd.NA, None),
        (pd.NaT, None),
        (float("nan"), None),
        (1.5, "1.5"),
        (1234567.0, "1234567"),
        (2001.0, "2001"),
        (0.1, "0.1"),
        (1234.5678, "1234.5678"),
        (True, "True"),
        (pd.Timestamp("2024-01-02"), "2024-01-02"),
        (pd.Timestamp("2024-01-02 03:04"), "2024-01-02 03:04:00"),
        ("x" * 200, "x" * 79 + "…"),
    ],
)
def test_cells_are_written_for_people(value, text):
    assert cell_text(value) == text


def test_what_others_wrote_is_escaped_and_visible():
    made = environment().from_string("{{ text }}|{{ share|pct }}|{{ n|count('row') }}")
    assert made.render(text="<b>\u202e\x1b", share=0.999, n=1) == "&lt;b&gt;\\u202e\\u001b|99 %|1 row"


def test_pieces_of_two_texts_make_them_up_again():
    for left, right in (("Müller", "Muller"), ("", "x"), ("abc", "abc"), ("a b", "b a")):
        sides = differences(left, right)
        assert tuple("".join(piece for piece, _ in side) for side in sides) == (left, right)
        same = ["".join(piece for piece, differs in side if not differs) for side in sides]
        assert same[0] == same[1]


def test_each_text_is_used_and_each_use_has_a_text():
    sources = [*(PROJECT / "dfjoin/page/templates").iterdir(), *(PROJECT / "dfjoin/page").glob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources if path.name != "page_texts.py")
    used = set(re.findall(r"\bt\.(\w+)", text)) | set(re.findall(r"TEXTS\[.(\w+).\]", text)) | {"refusals"}
    assert set(TEXTS) - used == set()
    assert {name for name in used if name not in TEXTS} <= {"html"}
    assert set(TEXTS["refusals"]) == set(re.findall(r"\brefusal\(\s*\"(\w+)\"", text))


def test_texts_of_refusals_stand_in_the_file_of_texts():
    for path in (PROJECT / "dfjoin/page").glob("*.py"):
        raised = [node.exc for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise)]
        written = [one for one in raised if isinstance(one, ast.Call) and has_text(one.args)]
        assert not written or path.name == "serve.py", path.name  # which refuses arguments of Python


def has_text(arguments):
    return any(
        isinstance(one, (ast.Constant, ast.JoinedStr)) and not isinstance(getattr(one, "value", ""), int)
        for one in arguments
    )


def test_what_a_form_sends_back_is_what_was_there(client):
    table = "b\u200fx,n\nPeru,1\nJapan,2\n".encode()
    state = client.post("/upload", files={"file": ("日本語.csv", table)}).url.path
    values = re.findall(r'name="on" value="([^"]*)"', client.get(state).text)
    assert values[0] == "b\u200fx"
    assert client.post(f"{state}/change", data={"kind": "drop", "columns": values[0]}).status_code == 200
    text = client.get(f"{state}/sql", params={"query": "SELECT\t1 AS a"}).text
    assert "\nSELECT\t1 AS a</textarea>" in text
    for form in ("py", "ipynb", "csv"):
        assert client.get(f"{state}/download/{form}").status_code == 200
    many = {f"x{i}": "" for i in range(1100)} | {"kind": "rename", "column": "n", "name": "m"}
    assert client.post(f"{state}/change", data=many).status_code == 200
    for field in ({"header": "9" * 5000}, {"encoding": "zlib_codec"}):
        answer = client.post(f"{state}/read", data=field)
        assert answer.status_code == 400 and "must be one of" in answer.text
    assert client.post(f"{state}/remove", data={"at": "1" * 5000}).status_code == 400


def test_a_partner_that_the_table_does_not_have_is_refused(client, people):
    form = {"on": "country", "table": "geo/countries.csv", "column": "country", "left": "Peru", "right": "Peru"}
    answer = client.post(f"{people}/review", data=form | {"better.0": "Chadd"})
    assert answer.status_code == 400
    assert "the right partner must be a value of the column" in answer.text and "did you mean" in answer.text


def test_rows_without_partner_are_those_of_the_join(client, people):
    fields = {"on": "country", "table": "geo/countries.csv", "column": "country"}
    page = plain(client.get(f"{people}/alone", params=fields).text)
    assert "Narnia" in page and "japan" not in page and "Norway" not in page


def test_lists_of_names_are_taken_apart_by_whole_names():
    assert _named("size, in km2, code and 2 more", ["code", "size, in km2", "size"]) == ["size, in km2", "code"]


def test_templates_and_titles_of_steps_take_their_words_from_the_one_file(monkeypatch):
    words = set()
    for path in (Path(PROJECT) / "dfjoin" / "page" / "templates").iterdir():
        text = re.sub(r"{%.*?%}|{{.*?}}", "", path.read_text("utf-8"), flags=re.DOTALL)
        text = text.replace(f' class="{path.stem}"', "").replace(' class="narrow"', "")
        words |= set(re.findall(r'(?:aria-label|placeholder|title|alt)="[^"]+"', text))
        words |= set(re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>", " ", text)))
    assert words == {"CSV", "Excel", "Parquet"}, "names of formats alone"
    plan = {"steps": [{"table": "t", "on": ["a"], "right_on": ["b"]}]}
    paired = JoinPaired("t", 1, {"on": "a", "right_on": "b", "reviewed": [["x", "y", True]]})
    steps = [*STEPS, JoinFound(plan, 1), paired]
    before = [step.title() for step in steps]
    assert before[0] == "Rename text to label" and "Join t on a = b" in before
    for name, text in TEXTS["titles"].items():
        monkeypatch.setitem(TEXTS["titles"], name, f"§{text}")
    assert all(step.title().startswith("§") for step in steps)
