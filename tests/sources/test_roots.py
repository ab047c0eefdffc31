"""Places of tables: URIs without credentials, paths that stay below their root."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from dfjoin._validation import is_uri, strip_credentials
from dfjoin.errors import InvalidParameterError
from dfjoin.sources import roots
from dfjoin.sources.listing import list_tables
from dfjoin.sources.roots import absolute_uri, is_below, local_path, open_root, resolve
from dfjoin.types import Root


def test_a_scheme_that_nothing_opens_is_an_error():
    with pytest.raises(InvalidParameterError, match=r"a URI that pyarrow.fs opens .* scheme 'nosuch'"):
        list_tables("nosuch://place/lake")


def test_an_opened_place_is_remembered_without_its_credentials(monkeypatch):
    calls = []

    def from_uri(uri):
        calls.append(uri)
        return fs.LocalFileSystem(), "bucket/lake/"

    class Fake:
        pass

    Fake.from_uri = staticmethod(from_uri)
    monkeypatch.setattr(roots, "_opened", {})
    monkeypatch.setattr(roots.fs, "FileSystem", Fake)
    assert open_root("s3://key:secret@bucket/lake")[1] == "bucket/lake"
    assert open_root("s3://bucket/lake")[1] == "bucket/lake"
    assert calls == ["s3://key:secret@bucket/lake"]
    assert list(roots._opened) == ["s3://bucket/lake"]


@pytest.mark.parametrize(
    ("uri", "stripped"),
    [
        ("s3://key:secret@bucket/lake?region=eu&secret_key=x&Session_Token=y", "s3://bucket/lake?region=eu"),
        ("s3://bucket/lake", "s3://bucket/lake"),
        ("s3://a@b@bucket/lake#frag", "s3://bucket/lake"),
        ("/a/b?password=x", "/a/b?password=x"),
        ("gs://bucket/x?sig=1&empty=", "gs://bucket/x?empty="),
    ],
)
def test_credentials_are_removed_from_uris(uri, stripped):
    assert strip_credentials(uri) == stripped
    assert strip_credentials(stripped) == stripped


@pytest.mark.parametrize(
    ("place", "expected"),
    [("s3://b/x", True), ("a+b://x", True), ("C://x", False), ("/a/b", False), ("a:b", False)],
)
def test_uris_are_told_from_paths(place, expected):
    assert is_uri(place) is expected
    assert (local_path(place) is None) is expected


def test_places_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute_uri("x/../y") == str(tmp_path / "y")
    assert absolute_uri(b"y") == str(tmp_path / "y")
    assert absolute_uri(Path("y")) == str(tmp_path / "y")
    assert absolute_uri("s3://b/x/") == "s3://b/x"
    assert open_root(str(tmp_path)) == (fs.LocalFileSystem(), str(tmp_path))


def test_paths_below_a_root_are_found(lake):
    base = lake("a b/c.csv")
    assert resolve(Root(0, "r", str(base)), "a b/c.csv") == str(base / "a b" / "c.csv")
    assert resolve(Root(0, "r", base.as_uri()), "not/there.csv") == str(base / "not" / "there.csv")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a\0b", ".."])
def test_paths_that_lead_out_of_a_root_are_refused(lake, path):
    root = Root(0, "r", str(lake()))
    with pytest.raises(InvalidParameterError, match="`relative_path` must be a POSIX path below the root"):
        resolve(root, path)


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "/"]), max_size=6).map("/".join))
def test_no_path_resolves_to_a_place_outside_the_root(path):
    base = str(Path(os.sep) / "somewhere" / "lake")
    try:
        found = resolve(Root(0, "r", base), path)
    except InvalidParameterError:
        assert path == "" or ".." in path.split("/") or path.startswith("/")
    else:
        assert os.path.normpath(found).startswith(base)


def test_links_that_lead_out_are_not_resolved(lake, tmp_path):
    base = lake("a.csv")
    (tmp_path / "secret.csv").write_text("x")
    (base / "out.csv").symlink_to(tmp_path / "secret.csv")
    (base / "in.csv").symlink_to(base / "a.csv")
    root = Root(0, "r", str(base))
    assert resolve(root, "in.csv") == str(base / "in.csv")
    with pytest.raises(InvalidParameterError, match=r"'out.csv' is a link that leads out of its root"):
        resolve(root, "out.csv")


@pytest.mark.parametrize("kind", ["spark", "memory"])
def test_only_roots_of_files_have_files(kind):
    with pytest.raises(InvalidParameterError, match=rf"`root` 2 \({kind}\) has no files below it"):
        resolve(Root(2, "r", "x", kind), "a.csv")


def test_a_sibling_with_the_same_beginning_is_not_below(tmp_path):
    base = os.path.realpath(tmp_path)
    assert is_below(f"{base}/lake/a", f"{base}/lake")
    assert is_below(f"{base}/lake", f"{base}/lake")
    assert is_below(f"{base}/lake", os.sep)
    assert not is_below(f"{base}/lake2/a", f"{base}/lake")
    assert not is_below(f"{base}/lake/../x", f"{base}/lake")


def test_a_place_that_is_not_reached_says_what_failed(monkeypatch):
    def fail(uri):
        raise OSError(f"When resolving region for {uri}: AWS Error NETWORK_CONNECTION: could not resolve host")

    monkeypatch.setattr(roots, "open_filesystem", fail)
    with pytest.raises(InvalidParameterError) as caught:
        open_root("s3://me:secret@nowhere-at-all/lake")
    text = str(caught.value)
    assert text.startswith(
        "`source` 's3://nowhere-at-all/lake' cannot be opened: OSError: When resolving region for s3:"
    )
    assert "could not resolve host (5 attempts). Check the network, the credentials" in text and "secret" not in text


def test_a_place_that_is_lost_while_it_is_listed_says_what_failed(monkeypatch):
    class Lost:
        def get_file_info(self, _):
            raise OSError("When getting information: AWS Error ACCESS_DENIED")

    monkeypatch.setattr("dfjoin.sources.listing.open_root", lambda uri: (Lost(), "/b"))
    for source in ("s3://b/x", ["s3://b/x/a.csv", "s3://b/x/b.csv"]):
        with pytest.raises(
            InvalidParameterError, match=r"`source` 's3://b/x.*cannot be opened: OSError: .*ACCESS_DENIED"
        ):
            list_tables(source)
