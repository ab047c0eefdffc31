"""Records of arrays: of the dtypes that components have, read-only where the index is."""

from typing import get_args, get_type_hints

import numpy as np
import pytest
from numba import config

from dfjoin.index.components import TOKENS
from dfjoin.kernels import records
from dfjoin.kernels.numba._compile import njit_lean
from dfjoin.kernels.records import Dictionary, Groups, Lists, SegmentIndex, Sets, as_read_only

COMPONENTS = {
    Dictionary: {name: name for name in Dictionary._fields},
    Groups: {"indptr": "group_indptr", "tokens": "group_tokens"},
    Lists: {"indptr": "list_indptr", "columns": "list_columns"},
    Sets: {"indptr": "set_indptr", "lists": "set_lists"},
    SegmentIndex: {name: name for name in SegmentIndex._fields if name != "cardinality"},
}
"""Record → its fields and the components of an index that they are."""


def dtype_of(record, field):
    dtype = get_args(get_type_hints(record, vars(records))[field])[-1]
    return np.dtype(*(get_args(dtype) or [dtype]))  # NDArray is an alias of its own since numpy 2.5


@pytest.mark.parametrize("record", COMPONENTS, ids=lambda record: record.__name__)
def test_the_arrays_of_an_index_are_of_the_dtypes_that_kernels_take(record):
    """Else a kernel would be compiled apart for the index."""
    for field, component in COMPONENTS[record].items():
        assert dtype_of(record, field) == TOKENS[component].dtype, field


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3)])
def test_a_read_only_view_shares_what_it_shows(dtype, shape):
    array = np.zeros(shape, dtype)
    view = as_read_only(array)
    assert view.dtype == array.dtype and view.shape == array.shape and not view.flags.writeable
    assert array.flags.writeable, "the array itself may be written still"
    array += 1
    assert (view == 1).all()
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 0


def test_a_view_of_a_read_only_array_is_read_only():
    assert not as_read_only(as_read_only(np.zeros(2))).flags.writeable


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_kernel_is_compiled_once_for_read_only_arrays_of_either_origin():
    @njit_lean
    def n_lists(lists):
        return lists.indptr.shape[0] - 1

    stored = np.frombuffer(np.arange(3).tobytes(), np.int64)  # of bytes: read-only, as what is mapped
    columns = as_read_only(np.empty(0, np.int32))
    assert n_lists(Lists(stored, columns)) == n_lists(Lists(as_read_only(np.arange(3)), columns)) == 2
    assert len(n_lists.overloads) == 1
    assert n_lists(Lists(np.arange(4), columns)) == 3
    assert len(n_lists.overloads) == 2
