import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.fuzzy.match_evidence import cut_batches, run_batches
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare


def side(texts):
    folded = fold_texts(pa.array(texts))
    return prepare(folded, folded).query


def test_long_texts_come_in_smaller_batches():
    short, long = side([f"name {i}" for i in range(40)]), side([f"{i} " + "word " * 300 for i in range(40)])
    numbers = np.arange(5000)
    assert [batch.size for batch in cut_batches(short, numbers)] == [1024, 1024, 1024, 1024, 904]
    assert {batch.size for batch in cut_batches(long, numbers)[:-1]} == {21}
    assert np.concatenate(cut_batches(long, numbers)).tolist() == numbers.tolist()
    assert [batch.size for batch in cut_batches(short, numbers[:0])] == [0]


def test_results_come_in_the_order_of_the_batches():
    assert run_batches(lambda i: (time.sleep(0.01 * (3 - i)), i)[1], range(3)) == [0, 1, 2]
    assert run_batches(str, []) == []


def test_the_first_error_is_raised_and_the_rest_is_dropped():
    done, begun = [], threading.Event()

    def work(i):
        if i == 0:
            raise ValueError("the first")
        begun.wait(0.05)
        done.append(i)

    with pytest.raises(ValueError, match="the first"):
        run_batches(work, range(1000))
    time.sleep(0.3)
    assert len(done) < 100
