"""A page of the example lake, and clients that have its token."""

from importlib.util import find_spec

import httpx
import pytest

from dfjoin.page.serve import explore

collect_ignore_glob = [] if find_spec("starlette") else ["test_*.py"]  # the extra `page` is not installed

PEOPLE = "name,country,born\nAnn,Peru,1990\nBo,japan,1985\nCy,Norway ,1971\nDi,Narnia,2001\nEd,Peru,1999\n"


@pytest.fixture(scope="session")
def server(example_lake):
    page = explore(example_lake, open_browser=False)
    yield page
    page.stop()


@pytest.fixture(scope="session")
def origin(server):
    return server.url.partition("/?")[0]


@pytest.fixture(scope="session")
def client(server, origin):
    """A browser without scripts: it keeps the cookie, and says where a form was."""
    with httpx.Client(base_url=origin, follow_redirects=True, timeout=60, headers={"Origin": origin}) as client:
        assert client.get(server.url).status_code == 200
        yield client


@pytest.fixture(scope="session")
def people(client):
    """The state of an uploaded table: its path."""
    answer = client.post("/upload", files={"file": ("people.csv", PEOPLE.encode())})
    assert answer.status_code == 200, answer.text
    return answer.url.path


@pytest.fixture(scope="session")
def wide(client, people):
    """The state after a join with the countries of the lake."""
    form = {"on": "country", "way": "equal", "table": "geo/countries.csv", "column": "country", "how": "left"}
    form |= {"chosen": "1", "bring": ["capital", "continent"]}
    answer = client.post(f"{people}/join", data=form)
    assert answer.status_code == 200, answer.text
    return answer.url.path
