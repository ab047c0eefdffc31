"""Opening Parquet: one file, or the files of a table in folders whose names hold values."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import dataset, fs, parquet

from dfjoin.sources.roots import resolve
from dfjoin.sources.table_reader import TableFile, TableReader, reject_pointer
from dfjoin.values.cells import register_pandas_types, workable_batch
from dfjoin.values.header_meaning import clean_names

_PARQUET_BUFFER = 1 << 20
_PARQUET_ROWS = 1 << 15


def open_parquet(table: TableFile) -> TableReader:
    """Open a file of Parquet, or the files of one table, see `dfjoin.sources.readers.open_table`."""
    filesystem, paths, source, wanted = table.filesystem, table.paths, table.source, table.wanted
    reject_pointer(filesystem, paths[0])
    register_pandas_types()
    if len(paths) == 1 and not any("=" in part.removeprefix(source.path) for part in source.parts):
        file = _open_parquet_file(filesystem, paths[0])
        raw = file.schema_arrow.names
        names = clean_names(raw)
        wanted.check(names)
        is_unique = len(set(raw)) == len(raw)
        chosen = wanted.raw(raw, names) if is_unique and wanted.columns is not None else None

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in file.iter_batches(_PARQUET_ROWS, columns=chosen, use_threads=False):
                if chosen is not None:
                    yield batch.select(chosen).rename_columns(wanted.names(names))
                else:
                    renamed = batch.rename_columns(names)
                    yield renamed if wanted.columns is None else renamed.select(wanted.names(names))

        return TableReader(names, None, lambda: map(workable_batch, batches()), table.fingerprint)
    base = resolve(source.root, source.path)
    found = dataset.dataset(
        paths, format="parquet", filesystem=filesystem, partitioning="hive", partition_base_dir=base
    )
    fields = _fields_of_parts(filesystem, found)
    raw = list(fields)
    names = clean_names(raw)
    wanted.check(names)

    def dataset_batches() -> Iterator[pa.RecordBatch]:
        chosen = [fields[name] for name in wanted.raw(raw, names)]
        for fragment in found.get_fragments():
            if table.wanted_paths is not None and fragment.path not in table.wanted_paths:
                continue
            for batch in _batches_of_part(filesystem, fragment, chosen):
                yield batch.rename_columns(wanted.names(names))

    return TableReader(names, None, lambda: map(workable_batch, dataset_batches()), table.fingerprint)


def _open_parquet_file(filesystem: fs.FileSystem, path: str) -> parquet.ParquetFile:
    """Open one file so that its pages are read as they are needed, and not whole row groups or files ahead."""
    return parquet.ParquetFile(path, filesystem=filesystem, pre_buffer=False, buffer_size=_PARQUET_BUFFER)


def _fields_of_parts(filesystem: fs.FileSystem, found: dataset.FileSystemDataset) -> dict[str, pa.Field]:
    """Return the columns that any of the files has, of a type that holds the values of all.

    Those of the folders' names are the last ones, as in Spark.
    """
    types: dict[str, list[pa.DataType]] = {}
    folders: set[str] = set()
    for part in found.get_fragments():
        folders |= dataset.get_partition_keys(part.partition_expression).keys()
        for field in parquet.read_schema(part.path, filesystem=filesystem):  # `part` itself would keep its footer
            types.setdefault(field.name, []).append(field.type)
    fields = {name: pa.field(name, _common_type(of_parts)) for name, of_parts in types.items()}
    return fields | {field.name: field for field in found.schema if field.name in folders}


def _common_type(types: list[pa.DataType]) -> pa.DataType:
    """Return a type that holds the values of all: that of texts where there is none, as of truths and numbers."""
    if len(set(types)) == 1:
        return types[0]
    plain = [type_.value_type if pa.types.is_dictionary(type_) else type_ for type_ in types]
    try:
        return pa.unify_schemas([pa.schema({"": type_}) for type_ in plain], promote_options="permissive").types[0]
    except pa.ArrowTypeError:
        return pa.string()


def _batches_of_part(
    filesystem: fs.FileSystem, part: dataset.ParquetFileFragment, fields: list[pa.Field]
) -> Iterator[pa.RecordBatch]:
    """Read one file of a table of several: values of its folders' names are columns, columns it lacks are null."""
    file = _open_parquet_file(filesystem, part.path)
    keys = dataset.get_partition_keys(part.partition_expression)
    known = set(file.schema_arrow.names)
    own = [field.name for field in fields if field.name in known and field.name not in keys]
    for batch in file.iter_batches(_PARQUET_ROWS, columns=own, use_threads=False):
        arrays = []
        for field in fields:
            if field.name in keys:
                arrays.append(pa.repeat(pa.scalar(keys[field.name]).cast(field.type), batch.num_rows))
            elif field.name in known:
                arrays.append(batch.column(field.name).cast(field.type))
            else:
                arrays.append(pa.nulls(batch.num_rows, field.type))
        yield pa.record_batch(arrays, schema=pa.schema(fields))
