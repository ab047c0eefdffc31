"""The embedder ``"ngrams"``: vectors of character n-grams that need no training and are the same in every lake."""

from __future__ import annotations

from functools import cache

import numpy as np

from dfjoin.kernels.vectors.skipgram import fill_uniform
from dfjoin.vectors.fasttext_model import FastTextModel

NGRAMS_IDENTITY = "ngrams:1"
"""What the manifest of an index calls it; a change of what follows changes the number."""

_DIMENSION, _SHORTEST, _LONGEST = 96, 1, 3
_BUCKETS, _SEED = 100_000, 1


@cache
def ngram_model() -> FastTextModel:
    """Return a model without words whose n-grams have random directions.

    Notes
    -----
    The vector of a word is the mean of the directions of its n-grams (1 to 3 characters, with marks at its ends), so
    that the angle between two words says which n-grams they share (random projection of sets of n-grams; Achlioptas,
    "Database-friendly random projections", JCSS 2003); that of a text is the mean of its words. Length and dimension
    were chosen with changed names, see docs/measurements/distance.md.
    """
    matrix = np.empty((_BUCKETS, _DIMENSION), np.float32)
    fill_uniform(matrix, 1.0, _SEED)
    return FastTextModel(np.zeros(1, np.int64), np.zeros(8, np.uint8), matrix, _SHORTEST, _LONGEST)
