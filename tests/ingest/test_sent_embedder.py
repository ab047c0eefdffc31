"""Embedders on their way to tasks: a model is mapped from files, a function is pickled, what cannot be is refused."""

import numpy as np
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.ingest import sent_embedder
from dfjoin.ingest.chosen_embedder import ToTrain, choose_for_index
from dfjoin.ingest.embed_task import open_sent_embedder
from dfjoin.ingest.sent_embedder import require_sendable, send_embedder
from dfjoin.types import IndexSettings
from dfjoin.vectors.embedders import to_texts
from tests.vectors.makers import letters
from tests.vectors.test_fasttext_model import write_model

TEXTS = to_texts(["paris", "new york av", "", "12"])


@pytest.fixture
def chosen(tmp_path):
    def choose(kind):
        write_model(tmp_path / "m.bin")
        embedder = tmp_path / "m.bin" if kind == "file" else letters
        return choose_for_index(embedder, {"av": "avenue"}, IndexSettings())

    return choose


@pytest.mark.parametrize("kind", ["file", "function"])
def test_what_arrives_embeds_as_what_was_sent(chosen, tmp_path, kind):
    pytest.importorskip("pyspark")
    one = chosen(kind)
    sent = send_embedder(one, tmp_path / "index", tmp_path)
    np.testing.assert_array_equal(open_sent_embedder(sent).embed(TEXTS), one.embedder.embed(TEXTS))


def test_what_cannot_be_pickled_is_refused(chosen, monkeypatch):
    def refuse(value):
        raise TypeError("cannot pickle it")

    monkeypatch.setattr(sent_embedder, "pickled", refuse)
    with pytest.raises(InvalidParameterError, match=r"must be a function that can be pickled, as tasks of Spark apply"):
        require_sendable(chosen("function"))
    require_sendable(chosen("file"))
    require_sendable(ToTrain({}))
