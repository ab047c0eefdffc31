"""Argument checks; each takes the public name of the argument to report."""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from dfjoin.errors import InvalidParameterError, InvalidTypeError, did_you_mean, shortlist

# Query keys of object store URIs that carry secrets (Arrow accepts some of them).
_SECRET_KEYS = ("key", "secret", "token", "password", "passwd", "signature", "sig", "credential")
_LARGEST = 2**63 - 1
"""The largest number that an index, a kernel and JSON can hold alike."""
MOST_DIGITS = 100
"""Digits of the longest code that numbers are padded to."""


def show(value: object) -> str:
    """Write what came instead of a legal value: its ``repr`` on one line, cut after 100 characters.

    Examples
    --------
    >>> show("x" * 500)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
    """
    try:
        text = repr(value) if isinstance(value, str) else " ".join(repr(value).split())
    except Exception:  # the repr of a foreign object may do anything
        text = f"an object of type {type(value).__name__}"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 100 else text[:100] + "…"


def is_valid_text(text: str) -> bool:
    """Tell whether a text can be written as UTF-8: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_positive_int(value: Any, name: str) -> int:
    """Return `value` as an int of at least 1, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidTypeError(f"`{name}` must be an integer of at least 1, got {show(value)}")
    number = operator.index(value)
    if number < 1:
        raise InvalidParameterError(f"`{name}` must be at least 1, got {show(value)}")
    if number > _LARGEST:
        raise InvalidParameterError(f"`{name}` must be at most 2**63 - 1, got {show(value)}")
    return number


def check_width(value: Any, name: str) -> int:
    """Return the number of digits that codes are padded to: an integer from 1 to `MOST_DIGITS`."""
    width = check_positive_int(value, name)
    if width > MOST_DIGITS:
        raise InvalidParameterError(f"`{name}` must be at most {MOST_DIGITS} digits, got {width}")
    return width


def check_fraction(value: Any, name: str) -> float:
    """Return `value` as a float between 0 and 1, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidTypeError(f"`{name}` must be a number between 0 and 1, got {show(value)}")
    number: Any = value
    if not 0 <= number <= 1:
        raise InvalidParameterError(f"`{name}` must be between 0 and 1, got {show(value)}")
    return float(value)


def check_distance(value: Any, name: str) -> float:
    """Return `value` as a finite float of at least 0, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidTypeError(f"`{name}` must be a number of at least 0, got {show(value)}")
    number: Any = value
    if not 0 <= number <= 1e300:
        raise InvalidParameterError(f"`{name}` must be finite and at least 0, got {show(value)}")
    return float(value)


def check_text(value: Any, name: str) -> str:
    """Return `value` if it is a text, or raise naming the argument."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"`{name}` must be a text, got {show(value)}")
    return value


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """Return `value` if it is one of the choices, or raise listing them."""
    for choice in choices:
        if value is choice or (type(value) is type(choice) and value == choice):
            return choice
    hint = did_you_mean(value, [choice for choice in choices if isinstance(choice, str)])
    raise InvalidParameterError(f"`{name}` must be one of {shortlist(choices, 10)}, got {show(value)}{hint}")


def one_of(*choices: Any) -> Callable[[Any, str], Any]:
    """Return the check of an argument that is one of some choices."""
    return lambda value, name: check_choice(value, name, choices)


def check_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False, or raise naming the argument."""
    return check_choice(value, name, (True, False))


def _texts(value: Any) -> tuple[str, ...] | None:
    """Return a text or the texts of a list as a tuple; None when there is anything else in it."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, (Mapping, bytes, bytearray)):
        return None
    texts = tuple(value)
    return texts if all(isinstance(text, str) for text in texts) else None


def check_patterns(value: Any, name: str) -> tuple[str, ...]:
    """Return a pattern or a list of patterns as a tuple, or raise naming the argument."""
    patterns = () if value is None else _texts(value)
    if patterns is None:
        raise InvalidTypeError(f"`{name}` must be a pattern or a list of patterns, got {show(value)}")
    return patterns


def check_names(value: Any, name: str, what: str = "a name or a list of names") -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple, or raise naming the argument; `what` says what they are."""
    names = _texts(value)
    if names is None:
        raise InvalidTypeError(f"`{name}` must be {what}, got {show(value)}")
    return names


def check_path(value: Any, name: str) -> str:
    """Return a path or URI as text, or raise naming the argument.

    Raises
    ------
    InvalidTypeError
        If it is neither text nor ``os.PathLike``.
    InvalidParameterError
        If no file system can hold it: empty, with a NUL, or with a lone surrogate.
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise InvalidTypeError(f"`{name}` must be a path, got {type(value).__name__}")
    try:
        is_legal = bool(text.strip()) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_legal = False
    if not is_legal:
        raise InvalidParameterError(f"`{name}` must be a path that a file can have, got {show(text)}")
    return text


def is_uri(location: str) -> bool:
    """Tell whether `location` is written as a URI (``scheme://…``) and not as a path."""
    scheme, separator, _ = location.partition("://")
    return bool(separator) and len(scheme) > 1 and scheme.replace("+", "").isalnum()


def strip_credentials(uri: str) -> str:
    """Remove user info and secret query values from a URI; a plain path is returned as it is.

    Parameters
    ----------
    uri : str
        A path or a URI.

    Returns
    -------
    str

    Examples
    --------
    >>> strip_credentials("s3://key:secret@bucket/lake?region=eu&secret_key=x")
    's3://bucket/lake?region=eu'
    """
    if not is_uri(uri):
        return uri
    parts = urlsplit(uri)
    kept = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _is_secret(k)]
    netloc = parts.netloc.rpartition("@")[2]
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{parts.scheme}://{netloc}{parts.path}{query}"  # urlunsplit loses the slashes where there is no host


def has_credentials(uri: str) -> bool:
    """Tell whether `strip_credentials` removes anything of a URI."""
    parts = urlsplit(uri)
    return "@" in parts.netloc or any(_is_secret(k) for k, _ in parse_qsl(parts.query, keep_blank_values=True))


def _is_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRET_KEYS)


def check_local_path(value: Any, name: str) -> Path:
    """Return the absolute path of a local file or directory, ``~`` replaced by the home directory.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        If it is no path, no UTF-8, too long for the file system, or the URI of another file system.
    """
    text = check_path(value, name)
    if "://" in text and not text.startswith("file://"):
        raise InvalidParameterError(
            f"`{name}` must be a local path, got {show(text)}; write it to a local disk and copy it"
        )
    path = Path(os.path.expanduser(text.removeprefix("file://"))).absolute()  # noqa: PTH111 (an unknown user stays)
    if not is_valid_text(str(path)):
        raise InvalidParameterError(f"`{name}` must be a path in UTF-8, which pyarrow can open, got {show(str(path))}")
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        raise InvalidParameterError(f"`{name}` {show(text)} lies below a file, not below a directory") from None
    except OSError as error:
        raise InvalidParameterError(f"`{name}` {show(text)} cannot be reached: {error.strerror}") from error
    return path
