"""Delimited text → record batches of text columns, by Arrow's parser; by Python's where rows are ragged."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from dfjoin.errors import TableReadError
from dfjoin.types import Dialect
from dfjoin.values.header_meaning import clean_names

_FIRST_CHARACTERS = 1 << 14
_BLOCK_BYTES = 8 << 20
_ROWS_PER_BATCH = 1 << 16
_MAX_BLOCK_BYTES = 64 << 20
TOO_LONG = f"a row is longer than {_MAX_BLOCK_BYTES >> 20} MiB; is a quote missing?"
"""Why a text is refused whose rows do not end."""


def split_lines(text: str) -> Iterator[str]:
    """Iterate over physical lines with their ends: LF, CRLF or CR, and nothing else that Unicode calls one."""
    if len(text) <= _FIRST_CHARACTERS:
        return iter(io.StringIO(text, newline=""))
    cut = text.rfind("\n", 0, _FIRST_CHARACTERS) + 1  # most readers want the first lines; a StringIO copies all
    return itertools.chain.from_iterable(io.StringIO(part, newline="") for part in _parts(text, cut))


def _parts(text: str, cut: int) -> Iterator[str]:
    yield text[:cut]
    yield text[cut:]


def csv_options(dialect: Dialect) -> dict[str, Any]:
    """Return the dialect as keyword arguments of Python's ``csv.reader``."""
    csv.field_size_limit(2**31 - 1)
    return {
        "delimiter": dialect.delimiter,
        "quotechar": dialect.quote_char or None,
        "quoting": csv.QUOTE_MINIMAL if dialect.quote_char else csv.QUOTE_NONE,
        "doublequote": dialect.double_quote,
        "escapechar": dialect.escape_char or None,
    }


class Layout:
    """Names of the columns, and where the data starts.

    Parameters
    ----------
    names : list of str
        Column names, each once.
    dialect : Dialect
    offset : int
        Bytes of UTF-8 before the first data record.
    is_whole : bool
        More text followed the first record, so that it is known to its end.
    """

    def __init__(self, names: list[str], dialect: Dialect, offset: int, is_whole: bool = True) -> None:
        self.names = names
        self.dialect = dialect
        self.offset = offset
        self.is_whole = is_whole


def max_columns_error(limit: int) -> TableReadError:
    """Return the error for a table that has more columns than the index takes."""
    return TableReadError(
        f"it has more than {limit:,} columns, the most that the index takes; allow more by the setting max_columns"
    )


def layout_of(text: str, dialect: Dialect, extra_columns: int = 0, max_columns: int = 100_000) -> Layout:
    """Read the header of a delimited text.

    Parameters
    ----------
    text : str
        Its beginning, decoded, without byte order mark.
    dialect : Dialect
    extra_columns : int
        Columns that longer rows need beyond the header.
    max_columns : int
        The most columns that are accepted.

    Raises
    ------
    TableReadError
        If there are more.
    """
    cells, offset, end = header_of(text, dialect)
    if len(cells) + extra_columns + dialect.implicit_index > max_columns:
        raise max_columns_error(max_columns)
    if not dialect.has_header:
        cells = [f"column_{i}" for i in range(len(cells))]
    if dialect.implicit_index:
        cells = ["", *cells]
    cells = cells + [""] * extra_columns
    n_bytes = len(text[:offset].encode("utf-8", "surrogatepass"))
    return Layout(clean_names(cells), dialect, n_bytes, is_whole=end < len(text))


def header_of(text: str, dialect: Dialect) -> tuple[list[str], int, int]:
    """Return the names of the columns, the number of characters before the first data record, and the header's end.

    Parameters
    ----------
    text : str
        Beginning of the file, decoded, without byte order mark.
    dialect : Dialect

    Returns
    -------
    cells : list of str
        Of the header, of two lines joined; without a header, of the first record.
    offset : int
        Characters that the title lines and the header take.
    end : int
        Characters up to the end of the header, or of the first record; the whole text if that may be cut.
    """
    lines = split_lines(text)
    offset = sum(len(line) for _, line in zip(range(dialect.skip_lines), lines, strict=False))
    taken = 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for line in lines:
            taken += len(line)
            yield line

    found: list[list[str]] = []
    for row in csv.reader(counted(), **csv_options(dialect)):
        if row:
            found.append(row)
        if found and len(found) >= dialect.header_lines:
            return join_headers(found), offset + (taken if dialect.has_header else 0), offset + taken
    return join_headers(found) if found else [], offset, len(text)


def join_headers(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns that one or two records tell.

    Of two, a name is both of its cells. A cell of the upper record holds for the empty ones to its right that have a
    cell below, as spreadsheets write groups of columns.

    Examples
    --------
    >>> join_headers([["region", "2019", "", "2020"], ["", "in", "out", "in"]])
    ['region', '2019 in', '2019 out', '2020 in']
    """
    if len(lines) == 1:
        return list(lines[0])
    upper, lower = lines
    names = []
    group = ""
    for position in range(max(len(upper), len(lower))):
        above = upper[position].strip() if position < len(upper) else ""
        below = lower[position].strip() if position < len(lower) else ""
        group = above or (group if below else "")
        names.append(f"{group} {below}".strip())
    return names


def _options(
    layout: Layout, columns: Sequence[str] | None, block_size: int, has_quotes: bool
) -> tuple[arrow_csv.ReadOptions, arrow_csv.ParseOptions, arrow_csv.ConvertOptions]:
    dialect = layout.dialect
    quote = dialect.quote_char if has_quotes else ""
    return (
        arrow_csv.ReadOptions(use_threads=False, block_size=block_size, column_names=layout.names),
        arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=quote or False,
            double_quote=dialect.double_quote,
            escape_char=dialect.escape_char or False,
            newlines_in_values=bool(quote),
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(layout.names, pa.string()),
            strings_can_be_null=False,
            include_columns=list(columns) if columns is not None else None,
        ),
    )


def read_text(data: bytes, layout: Layout, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Read delimited UTF-8 text that is held in memory.

    Parameters
    ----------
    data : bytes
        UTF-8 without byte order mark.
    layout : Layout
        Of that text; a ragged one is parsed by Python, short rows padded with nulls.
    columns : sequence of str, optional
        The columns wanted, in this order.

    Yields
    ------
    pyarrow.RecordBatch
        All columns of type string; an empty cell is an empty text.

    Raises
    ------
    RaggedError
        If a row has more or fewer fields than the layout and the layout does not say so.
    TableReadError
        If the text cannot be parsed.
    """
    body = memoryview(data)[layout.offset :]
    if not bytes(body[:4096]).strip() and not bytes(body).strip():
        return
    if layout.dialect.ragged:
        yield from _read_ragged(bytes(body), layout, columns)
        return
    quote = layout.dialect.quote_char.encode()
    has_quotes = bool(quote) and data.find(quote, layout.offset) >= 0
    held = pa.allocate_buffer(len(body))  # where Python ends first, a thread of Arrow cannot let go of Python's memory
    memoryview(held).cast("B")[:] = body
    block_size = max(1 << 16, min(len(body) + 1, _BLOCK_BYTES))
    while True:
        options = _options(layout, columns, block_size, has_quotes)
        try:
            with arrow_csv.open_csv(pa.BufferReader(held), *options) as reader:  # `read_csv` takes a quarter longer
                batches = list(reader)
            yield from batches
            return
        except pa.ArrowInvalid as error:
            if "straddl" in str(error) and block_size <= len(body):
                block_size = len(body) + 1
                continue
            raise _explained(error) from error


class RaggedError(Exception):
    """A row does not have the number of fields that the header has."""


class EncodingError(Exception):
    """A cell is not valid UTF-8."""


def _explained(error: pa.ArrowInvalid) -> Exception:
    """Turn an error of Arrow's parser into one that says what to do about it."""
    text = str(error)
    if "UTF8" in text or "UTF-8" in text:
        return EncodingError(text)
    if "Expected" in text and "columns" in text:
        return RaggedError(text)
    if "straddl" in text:
        return TableReadError(TOO_LONG)
    return RaggedError(text)


def _read_ragged(data: bytes, layout: Layout, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Parse with Python's reader; pad short rows with nulls, cut what lies beyond the names."""
    lines = split_lines(data.decode("utf-8", "replace"))
    rows = (row for row in csv.reader(lines, **csv_options(layout.dialect)) if row)
    yield from _batches_of_rows(rows, layout, columns)


def _batches_of_rows(
    rows: Iterator[list[str]], layout: Layout, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    width = len(layout.names)
    positions = {name: i for i, name in enumerate(layout.names)}
    wanted = list(range(width)) if columns is None else [positions[c] for c in columns]
    schema = pa.schema([(layout.names[i], pa.string()) for i in wanted])
    while True:
        try:
            chunk = list(itertools.islice(rows, _ROWS_PER_BATCH))
        except csv.Error as error:
            raise TableReadError(f"its rows cannot be parsed: {error}") from error
        if not chunk:
            return
        arrays = [pa.array([row[i] if i < len(row) else None for row in chunk], pa.string()) for i in wanted]
        yield pa.record_batch(arrays, schema=schema)


def max_width(data: bytes, layout: Layout) -> int:
    """Return the most fields that any row has; parses everything."""
    quote = layout.dialect.quote_char.encode()
    lines = split_lines(data[layout.offset :].decode("utf-8", "replace"))
    if not quote or data.find(quote, layout.offset) < 0:  # a line may be nothing but delimiters: make no list of it
        return max((line.count(layout.dialect.delimiter) + 1 for line in lines), default=0)
    try:
        return max((len(row) for row in csv.reader(lines, **csv_options(layout.dialect))), default=0)
    except csv.Error as error:
        raise TableReadError(f"its rows cannot be parsed: {error}") from error


def stream_text(
    open_stream: Callable[[], pa.NativeFile], layout: Layout, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read delimited text too large to hold, batch by batch.

    Rows of another length than the header come last, padded or cut; cells that are not valid in the
    encoding keep their readable part.

    Parameters
    ----------
    open_stream : callable
        Opens the decompressed bytes, in the encoding of the dialect, at their start.
    layout, columns
        As in `read_text`.

    Yields
    ------
    pyarrow.RecordBatch

    Notes
    -----
    Memory: three blocks of 8 MiB; a file with a longer row is read again from there on with larger
    blocks, up to 64 MiB.
    """
    block_size = _BLOCK_BYTES
    n_done = n_ragged_done = 0  # rows handed on, which a second reading passes over
    while True:
        ragged = _RaggedRows(n_ragged_done)
        n_seen = 0
        try:
            for batch in _stream_once(open_stream, layout, columns, block_size, ragged):
                n_seen += batch.num_rows
                if n_seen > n_done:
                    yield batch.slice(max(0, batch.num_rows - (n_seen - n_done)))
                    n_done = n_seen
                if len(ragged.texts) > _ROWS_PER_BATCH:
                    n_ragged_done += len(ragged.texts)
                    yield from _parse_apart(ragged.texts, layout, columns)
            break
        except pa.ArrowInvalid as error:
            if "straddl" in str(error) and block_size < _MAX_BLOCK_BYTES:
                block_size *= 8
                continue
            if "straddl" in str(error):
                raise TableReadError(TOO_LONG) from error
            raise TableReadError(f"its rows cannot be parsed: {error}") from error
    yield from _parse_apart(ragged.texts, layout, columns)


class _RaggedRows:
    """Rows of another length, put aside; the first `n_known` of them have been handed on before."""

    def __init__(self, n_known: int) -> None:
        self.texts: list[str] = []
        self._n_known = n_known

    def __call__(self, row: arrow_csv.InvalidRow) -> str:
        if self._n_known > 0:
            self._n_known -= 1
        else:
            self.texts.append(row.text)
        return "skip"


def _stream_once(
    open_stream: Callable[[], pa.NativeFile],
    layout: Layout,
    columns: Sequence[str] | None,
    block_size: int,
    ragged: _RaggedRows,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of the right length; put the text of the others aside."""
    read, parse, convert = _options(layout, columns, block_size, has_quotes=True)
    parse.invalid_row_handler = ragged
    with open_stream() as stream:
        utf8 = Utf8Stream(stream, layout.dialect.encoding)
        _skip(utf8, layout.offset)
        yield from arrow_csv.open_csv(pa.PythonFile(utf8, "r"), read, parse, convert)


def _parse_apart(ragged: list[str], layout: Layout, columns: Sequence[str] | None) -> list[pa.RecordBatch]:
    lines = [line for text in ragged for line in split_lines(text + "\n")]
    ragged.clear()
    rows = (row for row in csv.reader(iter(lines), **csv_options(layout.dialect)) if row)
    return list(_batches_of_rows(rows, layout, columns))


class Utf8Stream(io.RawIOBase):
    """A stream of bytes in some encoding, read as valid UTF-8 without byte order mark.

    Undecodable bytes become U+FFFD.
    """

    def __init__(self, stream: pa.NativeFile, encoding: str) -> None:
        self._stream = stream
        self._is_utf8 = encoding in ("utf-8", "utf-8-sig")
        name = "utf-8-sig" if self._is_utf8 else encoding
        self._decoder = codecs.getincrementaldecoder(name)("replace")
        self._pending = b""
        self._at_end = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or all."""
        while not self._at_end and (size < 0 or len(self._pending) < size):
            chunk = self._stream.read(4 << 20)
            self._at_end = not chunk
            self._pending += self._decoder.decode(chunk, self._at_end).encode("utf-8", "replace")
        end = len(self._pending) if size < 0 else size
        taken, self._pending = self._pending[:end], self._pending[end:]
        return taken


def _skip(stream: io.RawIOBase, n_bytes: int) -> None:
    while n_bytes > 0:
        chunk = stream.read(min(n_bytes, 1 << 20))
        if not chunk:
            return
        n_bytes -= len(chunk)
