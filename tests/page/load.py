"""Load on a page: ``python -m tests.page.load INDEX``: twenty people at once, beside one; or random requests.

People look at each page for some two seconds before they go on; with ``--think 0`` they do not look at all.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import random
import statistics
import string
import time
from pathlib import Path

import httpx

PROJECT = Path(__file__).parents[2]
ADDRESSES = [
    ("GET", "/"), ("GET", "/tables"), ("GET", "/lake"), ("GET", "/lake/table"), ("GET", "/lake/graph"),
    ("GET", "/lake/path"), ("GET", "{state}"), ("GET", "{state}/search"), ("GET", "{state}/evidence"),
    ("GET", "{state}/family"), ("GET", "{state}/radius"), ("GET", "{state}/join"), ("GET", "{state}/alone"),
    ("GET", "{state}/disagreeing"), ("GET", "{state}/review"), ("GET", "{state}/sql"), ("GET", "{state}/change"),
    ("GET", "{state}/leave"), ("GET", "{state}/download/csv"), ("GET", "{state}/download/py"), ("GET", "/static/x"),
    ("POST", "/upload"), ("POST", "/paste"), ("POST", "/start"), ("POST", "{state}/read"), ("POST", "{state}/join"),
    ("POST", "{state}/review"), ("POST", "{state}/sql"), ("POST", "{state}/change"), ("POST", "{state}/remove"),
    ("POST", "/build/cancel"), ("POST", "/build/again"), ("POST", "/lake/refresh"),
]  # fmt: skip
FIELDS = [
    "on", "way", "radius", "least", "tables", "pad", "dayfirst", "table", "column", "how", "chosen", "bring", "rule.capital",
    "query", "kind", "columns", "name", "operator", "value", "type", "at", "of", "words", "folder", "hops", "score",
    "from", "to", "show", "view", "verdict", "word", "precision", "left", "right", "said", "answer.0", "better.0", "cells",
]  # fmt: skip
VALUES = [
    "", "country", "Country", "name", "equal", "large", "spelling", "program", "meaning", "places", "0.1", "-1", "nan", "1e999",
    "geo/countries.csv", "capital", "left", "outer", "filter", "drop", "sort", "group", "retype", "rename", "=", "contains", "1",
    "2", "999999999999", "SELECT * FROM t", "SELECT * FROM read_csv('/etc/passwd')", "COPY t TO '/tmp/x'", "../../etc/passwd",
    "file:///etc/passwd", "<script>alert(1)</script>", "'; DROP TABLE t; --", "{{7*7}}", "\x00", "\ud7ff", "💥" * 50, "yes",
]  # fmt: skip


def random_requests(client, states, rng, n):
    """Make requests of known and unknown fields and values; count the statuses."""
    counts = collections.Counter()
    for _ in range(n):
        method, path = rng.choice(ADDRESSES)
        state = rng.choice([*states, "/s/" + "".join(rng.choices(string.hexdigits, k=32))])
        fields = [(rng.choice(FIELDS), rng.choice(VALUES)) for _ in range(rng.randrange(7))]
        fields += [("on", "country"), ("table", "geo/countries.csv"), ("column", "country")] * (rng.random() < 0.3)
        told = collections.defaultdict(list)
        for name, value in fields:
            told[name].append(value)
        options = {"params": told} if method == "GET" else {"data": told}
        answer = client.request(method, path.format(state=state), follow_redirects=False, **options)
        counts[answer.status_code] += 1
    return counts


def journey(server_url, state, join, think=0.0):
    """Look at the pages of a search and a join; return the seconds of each request."""
    seconds, rng = [], random.Random()
    time.sleep(rng.random() * think)
    with httpx.Client(follow_redirects=True, timeout=120) as client:
        client.get(server_url)
        base = server_url.split("/?")[0].split("/s/")[0]
        for path in (
            state,
            f"{state}/search?on=Country",
            join,
            "/lake",
            "/tables?words=country",
        ):
            time.sleep(think * (0.5 + rng.random()))
            start = time.perf_counter()
            answer = client.get(base + path)
            seconds.append(time.perf_counter() - start)
            assert answer.status_code == 200, (path, answer.status_code, answer.text[-500:])
    return seconds


def people(server_url, state, join, n, think=0.0):
    """Let people look at the pages at the same time; return the seconds of all requests."""
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        told = pool.map(lambda _: journey(server_url, state, join, think), range(n))
        return [second for seconds in told for second in seconds]


def main():
    """Measure."""
    from dfjoin.page.serve import explore

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--random", type=int, default=0, help="so many random requests in the place of people")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--think", type=float, default=2.0, help="seconds between two pages")
    options = parser.parse_args()
    page = explore(options.index, str(PROJECT / "examples" / "facilities.csv"), open_browser=False)
    state = page.url.split("?")[0].removeprefix(page.url.split("/s/")[0])
    origin = page.url.split("/s/")[0]
    with httpx.Client(base_url=origin, timeout=120, follow_redirects=True, headers={"Origin": origin}) as client:
        client.get(page.url)
        if options.random:
            print(dict(random_requests(client, [state], random.Random(1), options.random)))
            print("alive:", client.get("/lake").status_code)
            return
        hit = client.get(f"{state}/search?on=Country&view=table").text
        join = f"{state}/join?" + hit.split("/join?")[1].split('"')[0].replace("&amp;", "&")
    with concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn")
    ) as pool:  # no part of the server
        pool.submit(people, page.url, state, join, 1).result()
        one = [second for _ in range(3) for second in pool.submit(people, page.url, state, join, 1).result()]
        start = time.process_time()
        many = pool.submit(people, page.url, state, join, options.people, options.think).result()
    print(f"CPU of the server: {1e3 * (time.process_time() - start) / len(many):.1f} ms a page")
    p95 = [statistics.quantiles(seconds, n=20)[-1] for seconds in (one, many)]
    print(
        f"p95: one person {1e3 * p95[0]:.0f} ms, {options.people} at once {1e3 * p95[1]:.0f} ms, {p95[1] / p95[0]:.1f} times"
    )
    page.stop()


if __name__ == "__main__":
    main()
