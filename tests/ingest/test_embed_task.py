"""What tasks do of embedding: each process opens an embedder once; what fails comes back as text."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.index.vector_group import text_tokens
from dfjoin.ingest.embed_task import (
    FUNCTION_FILE,
    EmbedJob,
    Stretch,
    embed_stretch,
    open_sent_embedder,
    write_cells,
)
from dfjoin.ingest.requests import embed_request, execute, read_stretch
from dfjoin.vectors.embedders import FunctionEmbedder
from tests.vectors.makers import letters


def job_of(lake, work, function, dimension=26):
    (work / FUNCTION_FILE).write_bytes(pickle.dumps(FunctionEmbedder(function, "test")))
    return EmbedJob(str(lake.path), str(work), sent_from(work), dimension)


def sent_from(directory):
    return {"directory": str(directory), "model": None, "abbreviations": {}}


def not_finite(texts):
    return np.full((len(texts), 26), np.nan)


@pytest.fixture
def lake(build):
    return build({"t": pd.DataFrame({"name": ["paris", "rome", "12-3", "oslo", "bern"]})})


def test_a_stretch_that_is_embedded_twice_is_written_twice(lake, tmp_path):
    """A worker may be lost after it was done: another attempt must not meet its files."""
    job, counted = job_of(lake, tmp_path, letters), []
    stretch = Stretch(lake.segments[0].meta.to_dict(), 1, 2, 10)
    one, other = (embed_stretch(job, stretch, lambda *counts: counted.append(counts)) for _ in range(2))
    assert one.directory != other.directory and one.n == other.n <= 3 and counted == [(10, 10)] * 2
    meta = write_cells(job, lake.segments[0].meta, [one], tmp_path)
    group = tmp_path / "segments" / meta.id / meta.group("vectors").id
    tokens = np.load(group / "vector_tokens.npy")
    assert set(tokens.tolist()) <= set(text_tokens(lake.segments[0])[2:].tolist()) and tokens.size == one.n


def test_parts_are_all_values_however_many_there_are(lake, tmp_path):
    """The driver does not know the number of values: parts may be more than these."""
    job, meta = job_of(lake, tmp_path, letters), lake.segments[0].meta
    for n_parts in (1, 2, 3, 11):
        counted = []
        parts = [Stretch(meta.to_dict(), part, n_parts, 7) for part in range(n_parts)]
        found = [embed_stretch(job, part, lambda n, _: counted.append(n)) for part in parts]
        tokens = [np.fromfile(tmp_path / one.directory / "tokens", np.int64) for one in found]
        whole = embed_stretch(job, Stretch(meta.to_dict(), 0, 1, 7))
        assert np.concatenate(tokens).tolist() == np.fromfile(tmp_path / whole.directory / "tokens", np.int64).tolist()
        assert sum(counted) == 7 * n_parts, "each part counts for what the driver takes it for"


def test_a_process_opens_an_embedder_once(lake, tmp_path):
    job = job_of(lake, tmp_path, letters)
    assert open_sent_embedder(job.embedder) is open_sent_embedder(job.embedder)


def test_an_embedder_that_workers_cannot_open_says_so(tmp_path):
    (tmp_path / FUNCTION_FILE).write_bytes(b"cno_module_of_theirs\nembed\n.")
    with pytest.raises(
        InvalidParameterError, match=r"cannot be opened by the tasks of Spark \(ModuleNotFoundError: No"
    ):
        open_sent_embedder(sent_from(tmp_path))


def test_an_embedder_that_fails_is_not_tried_again(lake, tmp_path):
    stretch = Stretch(lake.segments[0].meta.to_dict(), 0, 1, 5)
    result = execute(embed_request(job_of(lake, tmp_path, not_finite), stretch, tmp_path / "embedding-0.json"))
    assert list(json.loads(result)) == ["invalid"]
    with pytest.raises(InvalidParameterError, match="must return finite numbers, but test returned NaN"):
        read_stretch(result)
