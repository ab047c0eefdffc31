"""What tasks do of embedding: each process opens an embedder once; what fails comes back as text."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.index.vector_group import text_tokens
from dfjoin.ingest.embed_task import EmbedJob, Stretch, embed_stretch, open_sent_embedder, write_cells
from dfjoin.ingest.requests import embed_request, execute, read_stretch
from dfjoin.vectors.embedders import FunctionEmbedder
from tests.vectors.makers import letters


def job_of(lake, work, function, dimension=26):
    (work / "embedder.pickle").write_bytes(pickle.dumps(FunctionEmbedder(function, "test")))
    sent = json.dumps({"file": str(work / "embedder.pickle"), "abbreviations": {}})
    return EmbedJob(str(lake.path), str(work), sent, dimension)


def not_finite(texts):
    return np.full((len(texts), 26), np.nan)


@pytest.fixture
def lake(build):
    return build({"t": pd.DataFrame({"name": ["paris", "rome", "12-3", "oslo", "bern"]})})


def test_a_stretch_that_is_embedded_twice_is_written_twice(lake, tmp_path):
    """A worker may be lost after it was done: another attempt must not meet its files."""
    job, counted = job_of(lake, tmp_path, letters), []
    stretch = Stretch(lake.segments[0].meta.to_dict(), 1, 5)
    one, other = (embed_stretch(job, stretch, lambda *counts: counted.append(counts)) for _ in range(2))
    assert one.file != other.file and one.n == other.n <= 4 and counted == [(4, 4)] * 2
    meta = write_cells(job, lake.segments[0].meta, [one])
    group = tmp_path / "segments" / meta.id / meta.group("vectors").id
    tokens = np.load(group / "vector_tokens.npy")
    assert set(tokens.tolist()) <= set(text_tokens(lake.segments[0])[1:].tolist()) and tokens.size == one.n


def test_a_process_opens_an_embedder_once(lake, tmp_path):
    job = job_of(lake, tmp_path, letters)
    assert open_sent_embedder(job.embedder) is open_sent_embedder(job.embedder)


def test_an_embedder_that_workers_cannot_open_says_so(tmp_path):
    (tmp_path / "embedder.pickle").write_bytes(b"cno_module_of_theirs\nembed\n.")
    sent = json.dumps({"file": str(tmp_path / "embedder.pickle"), "abbreviations": {}})
    with pytest.raises(
        InvalidParameterError, match=r"cannot be opened by the tasks of Spark \(ModuleNotFoundError: No"
    ):
        open_sent_embedder(sent)


def test_an_embedder_that_fails_is_not_tried_again(lake, tmp_path):
    stretch = Stretch(lake.segments[0].meta.to_dict(), 0, 5)
    result = execute(embed_request(job_of(lake, tmp_path, not_finite), stretch, tmp_path / "embedding-0.json"))
    assert list(json.loads(result)) == ["invalid"]
    with pytest.raises(InvalidParameterError, match="must return finite numbers, but test returned NaN"):
        read_stretch(result)
