"""File systems by URI: those of object stores give up after a known number of attempts, and errors tell it."""

from __future__ import annotations

from pyarrow import fs

__all__ = ["ATTEMPTS", "is_of_store", "open_filesystem", "reason_of_store"]

ATTEMPTS = 5
"""How often a request is sent to an object store that does not answer, or answers that it is busy or broken."""

_NOT_REPEATED = ("ACCESS_DENIED", "status 4", "NoSuchBucket", "NO_SUCH", "INVALID_ACCESS_KEY")


def open_filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """Open the file system that a URI names, as ``pyarrow.fs.FileSystem.from_uri`` does.

    Parameters
    ----------
    uri : str

    Returns
    -------
    tuple of (pyarrow.fs.FileSystem, str)
        The file system and the path on it. One of S3 sends a request five times, at growing distances; a connection
        over which nothing comes for three seconds counts as failed.
    """
    filesystem, path = fs.FileSystem.from_uri(uri)
    if filesystem.type_name == "s3":
        _, (options,) = filesystem.__reduce__()  # all that the URI said, as when it is sent to another process
        filesystem = fs.S3FileSystem(**options, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS))
    return filesystem, path


def is_of_store(error: BaseException | None) -> bool:
    """Tell whether an object store did not do what it was asked for: it may do it later."""
    return isinstance(error, OSError) and "AWS Error" in str(error)


def reason_of_store(error: BaseException) -> str:
    """Return the text of an error, and how often it was tried if it is that of an object store that did not answer."""
    text = " ".join(str(error).split()).rstrip(".")
    is_repeated = is_of_store(error) and not any(mark in text for mark in _NOT_REPEATED)
    return f"{text} ({ATTEMPTS} attempts)" if is_repeated else text
