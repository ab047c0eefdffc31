"""Servers of databases: named without what is secret, read in one transaction, and their tables by schema and name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import quote, unquote, urlsplit

from dfjoin.errors import InvalidParameterError, InvalidTypeError

_GivenUri: TypeAlias = "str | Callable[[], str]"

_given: dict[str, _GivenUri] = {}
"""What was given in this process for a database, by its URI without credentials; it is written nowhere. Another process
takes user and password from the environment or from the option file of the database."""


class _Session(Protocol):
    is_usable: bool


_AnySession = TypeVar("_AnySession", bound=_Session)
_shared: ContextVar[dict[str, Any] | None] = ContextVar("shared", default=None)


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Let all tables of a database that are read here be read in one transaction, which sees one moment of it."""
    if _shared.get() is not None:
        yield
        return
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def shared_session(uri: str, opened: Callable[[str], _AnySession]) -> _AnySession | None:
    """Return what `one_snapshot` reads a database by, opened when it is first asked for; None outside of it."""
    shared = _shared.get()
    if shared is None:
        return None
    if uri not in shared or not shared[uri].is_usable:
        shared[uri] = opened(uri)
    return shared[uri]


def location_of(given: _GivenUri, scheme: str, needs_database: bool = True) -> str:
    """Return the URI of a database without credentials and options, and remember in this process what was given.

    Parameters
    ----------
    given : str or callable
        The URI, or what returns it whenever the database is opened: a password may be valid for minutes.
    scheme : str
        Of the URI that is returned.
    needs_database : bool
        Whether the URI must name one; otherwise all that the user may read are read.
    """
    uri = uri_of(given)
    try:
        parts = urlsplit(uri)
        host, database = parts.netloc.rpartition("@")[2], parts.path.strip("/")
        _ = parts.port
        if "#" in uri or "@" in unquote(host) + parts.path + parts.query:  # of a password with such signs
            raise ValueError
    except ValueError:
        raise InvalidParameterError(
            f"`source` must be a URI as {scheme}://user:password@host:port/database, got one that cannot be taken "
            "apart; write signs such as @, /, :, ? and # in a password as %40, %2F, %3A, %3F and %23"
        ) from None
    if needs_database and not database:
        raise InvalidParameterError(f"`source` must name the database: {scheme}://host/database; got a URI without one")
    location = f"{scheme}://{host}/{database}"
    if parts.netloc != host or parts.query or callable(given):
        _given[location] = given
    return location


def has_credentials(uri: str) -> bool:
    """Tell whether more is known of a database, in this process alone, than its URI says."""
    return uri in _given


def full_uri(uri: str) -> str:
    """Return the URI of a database as it was given in this process."""
    return uri_of(_given.get(uri, uri))


def uri_of(given: _GivenUri) -> str:
    """Return a URI that was given, or what the function that was given returns."""
    if isinstance(given, str):
        return given
    try:
        found = given()
    except Exception as error:
        raise InvalidParameterError(
            f"`source` is a function that has to return the URI of a database, and fails: {type(error).__name__}"
        ) from error
    if not isinstance(found, str):
        raise InvalidTypeError(
            "`source` may be a function that returns the URI of a database on a server, as "
            f"postgresql://user:password@host/database; got one that returns {type(found).__name__}"
        )
    return found


def safe_text(error: BaseException, full: str) -> str:
    """Return the text of an error without the credentials of a URI, on one line."""
    text = str(error)
    parts = urlsplit(full)
    values = [parts.password or "", *(option.partition("=")[2] for option in parts.query.split("&"))]
    for secret in sorted({full, parts.query, *values, *map(unquote, values)}, key=len, reverse=True):
        if secret:
            text = text.replace(secret, "…")
    return " ".join(text.split())[:300]


def path_of_table(schema: str, table: str) -> str:
    """Return how the catalogue names a table below the root of its database: ``schema/table``."""
    return f"{quote(schema, safe=' ')}/{table}" if "/" in schema or "%" in schema else f"{schema}/{table}"


def schema_and_table(path: str) -> tuple[str, str]:
    """Return the schema and the name of a table; the other way round than `path_of_table`."""
    schema, _, table = path.partition("/")
    return unquote(schema), table


def quoted(name: str) -> str:
    """Write a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
