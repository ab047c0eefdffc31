"""Skip-gram with negative sampling: neighbours come closer, and the same texts give the same vectors."""

import numpy as np

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.skipgram import Corpus, Training, fill_uniform, train_texts

N_WORDS, D = 12, 8


def corpus():
    """Texts of words 0 to 5 alone, or of 6 to 11 alone."""
    rng = np.random.default_rng(0)
    texts = [rng.choice(6, 6) + 6 * (i % 2) for i in range(3000)]
    indptr = np.cumsum([0] + [6] * len(texts)).astype(np.int64)
    rows = np.arange(N_WORDS)
    arrays = (
        np.concatenate(texts).astype(np.int32),
        indptr,
        rows,
        np.arange(N_WORDS + 1),
        np.ones(N_WORDS),
        np.arange(N_WORDS, dtype=np.int32),
    )
    return Corpus(*map(as_read_only, arrays))


def trained(seed):
    matrix, output = np.empty((N_WORDS, D), np.float32), np.zeros((N_WORDS, D), np.float32)
    fill_uniform(matrix, 1 / D, seed)
    start = matrix.copy()
    texts = corpus()
    scratch = np.empty(D, np.float32), np.empty(D, np.float32), np.empty(99, np.int32)
    state = np.array([seed, 0], np.uint64)
    train_texts(texts, 0, 3000, matrix, output, Training(3, 5, 0.05, texts.words.size), *scratch, state)
    assert state[1] == texts.words.size
    return start, matrix


def test_words_of_the_same_texts_come_closer():
    start, matrix = trained(1)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    similar = unit @ unit.T
    same = np.arange(N_WORDS) // 6
    alike = same[:, None] == same[None, :]
    assert similar[alike].mean() > 0.9 and similar[~alike].mean() < 0.3
    assert np.abs(start).max() <= 1 / D and np.isfinite(matrix).all()


def test_the_same_seed_gives_the_same_vectors():
    np.testing.assert_array_equal(trained(1)[1], trained(1)[1])
    assert not np.array_equal(trained(1)[1], trained(2)[1])
