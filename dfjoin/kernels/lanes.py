"""Sixteen numbers in float32 or whole ones, or eight words, side by side: the operations that scans are made of.

A loop that a compiler has to recognise as one over such vectors is checked, cut and stored at each turn; these
operations are vectors from the start, and stay in registers. LLVM makes of them what a processor has: one register of
512 bits, two of 256, or four of 128.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.extending import intrinsic

__all__ = [
    "LANES",
    "WORDS",
    "add_pairs",
    "add_product",
    "lanes_from",
    "lanes_of",
    "lanes_up_to",
    "no_lanes",
    "sum_of_lanes",
    "words_near",
]

LANES = 16
"""Numbers of a vector."""

WORDS = 8
"""Words of 64 bits that are compared at once."""

_ROWS = 4
"""Words of a signature."""

if config.DISABLE_JIT:  # the same operations in plain Python, for coverage and readable failures

    def no_lanes() -> Any:
        """Return zeros."""
        return np.zeros(LANES, np.float32)

    def lanes_of(array: Any, position: int) -> Any:
        """Return the 16 numbers from a place of a float32 or int32 array, row after row."""
        return array.reshape(-1)[int(position) : int(position) + LANES]

    def add_product(sums: Any, one: Any, other: Any) -> Any:
        """Return ``sums + one · other``."""
        return sums + one * other

    def add_pairs(sums: Any, lanes: Any, pair: Any) -> Any:
        """Return ``sums + low · low + high · high`` of the halves of each lane and of ``pair``, of 16 bits each."""
        halves = np.ascontiguousarray(lanes).view(np.int16).reshape(-1, 2).astype(np.int32)
        return sums + (halves * np.array([pair], np.int32).view(np.int16)).sum(axis=1, dtype=np.int32)

    def lanes_from(lanes: Any, least: Any) -> Any:
        """Return a number with bit i set where lane i, a whole number, is ``least`` at least."""
        return np.uint64(sum(1 << i for i in np.flatnonzero(lanes >= least).tolist()))

    def lanes_up_to(lanes: Any, most: Any) -> Any:
        """Return a number with bit i set where lane i is ``most`` at most."""
        return np.uint64(sum(1 << i for i in np.flatnonzero(lanes <= most).tolist()))

    def sum_of_lanes(lanes: Any) -> Any:
        """Return the sum of all lanes, in a fixed order."""
        width = LANES // 2
        while width:
            lanes, width = lanes[:width] + lanes[width : 2 * width], width // 2
        return lanes[0]

    def words_near(words: Any, position: int, own: Any, number: int, most: Any) -> Any:
        """Return a number with bit i set where column ``position + i`` of four rows differs from one by few bits."""
        columns = words[:, int(position) : int(position) + WORDS] ^ own[:, int(number)][:, None]
        bits = np.bitwise_count(columns).sum(axis=0)
        return np.uint64(sum(1 << i for i in np.flatnonzero(bits <= most).tolist()))

else:
    ir = cgutils.ir
    _VECTOR = ir.VectorType(ir.FloatType(), LANES)
    _NUMBER = ir.IntType(32)
    _WHOLE = ir.VectorType(_NUMBER, LANES)

    class _Lanes(types.Type):  # type: ignore[misc]
        """The type of 16 numbers of float32, or of int32."""

        def __init__(self, kind: Any) -> None:
            self.vector = _VECTOR if kind == types.float32 else _WHOLE
            super().__init__(name=f"lanes of {kind}")

    @register_default(_Lanes)
    class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, own: Any) -> None:
            super().__init__(manager, own, own.vector)

    _LANES, _WHOLE_LANES = _Lanes(types.float32), _Lanes(types.int32)

    def _spread(builder: Any, number: Any, kind: Any = _VECTOR) -> Any:
        """Make a vector of one number."""
        nothing = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(nothing, number, _NUMBER(0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_NUMBER, kind.count), None))

    @intrinsic
    def no_lanes(typingctx: Any) -> Any:
        """Return zeros."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(_VECTOR, None)

        return _LANES(), codegen

    @intrinsic
    def lanes_of(typingctx: Any, array: Any, position: Any) -> Any:
        """Return the 16 numbers from a place of a float32 or int32 array; the caller guarantees the bounds."""
        lanes = _LANES if array.dtype == types.float32 else _WHOLE_LANES

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            loaded = builder.load(builder.bitcast(builder.gep(data, [args[1]]), lanes.vector.as_pointer()))
            loaded.align = 4
            return loaded

        return lanes(array, types.uint64), codegen

    @intrinsic
    def add_product(typingctx: Any, sums: Any, one: Any, other: Any) -> Any:
        """Return ``sums + one · other``, rounded once where the processor can."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
            function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
            return builder.call(function, [args[1], args[2], args[0]])

        return _LANES(sums, one, other), codegen

    @intrinsic
    def add_pairs(typingctx: Any, sums: Any, lanes: Any, pair: Any) -> Any:
        """Return ``sums + low · low + high · high`` of the halves of each lane and of ``pair``, of 16 bits each.

        Products of all halves, then sums of neighbours: the form that LLVM takes for one instruction (vpdpwssd).
        """
        halves, products = ir.VectorType(ir.IntType(16), 2 * LANES), ir.VectorType(_NUMBER, 2 * LANES)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            own, other = (
                builder.sext(builder.bitcast(vector, halves), products)
                for vector in (args[1], _spread(builder, args[2], _WHOLE))
            )
            product = builder.mul(own, other)
            low, high = (
                builder.shuffle_vector(
                    product, product, ir.Constant(_WHOLE, [_NUMBER(2 * i + half) for i in range(LANES)])
                )
                for half in (0, 1)
            )
            return builder.add(args[0], builder.add(low, high))

        return _WHOLE_LANES(_WHOLE_LANES, _WHOLE_LANES, types.int32), codegen

    @intrinsic
    def lanes_from(typingctx: Any, lanes: Any, least: Any) -> Any:
        """Return a number with bit i set where lane i, a whole number, is ``least`` at least."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            is_high = builder.icmp_signed(">=", args[0], _spread(builder, args[1], _WHOLE))
            return builder.zext(builder.bitcast(is_high, ir.IntType(LANES)), ir.IntType(64))

        return types.uint64(_WHOLE_LANES, types.int32), codegen

    @intrinsic
    def lanes_up_to(typingctx: Any, lanes: Any, most: Any) -> Any:
        """Return a number with bit i set where lane i is ``most`` at most."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            is_low = builder.fcmp_ordered("<=", args[0], _spread(builder, args[1]))
            return builder.zext(builder.bitcast(is_low, ir.IntType(LANES)), ir.IntType(64))

        return types.uint64(lanes, types.float32), codegen

    @intrinsic
    def sum_of_lanes(typingctx: Any, lanes: Any) -> Any:
        """Return the sum of all lanes, in a fixed order."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            sums, width = args[0], LANES // 2
            while width:
                moved = [_NUMBER(i + width if i < width else i) for i in range(LANES)]
                mask = ir.Constant(ir.VectorType(_NUMBER, LANES), moved)
                sums, width = builder.fadd(sums, builder.shuffle_vector(sums, sums, mask)), width // 2
            return builder.extract_element(sums, _NUMBER(0))

        return types.float32(lanes), codegen

    @intrinsic
    def words_near(typingctx: Any, words: Any, position: Any, own: Any, number: Any, most: Any) -> Any:
        """Return a number with bit i set where column ``position + i`` of four rows differs from one by few bits.

        Both tables have four rows of 64-bit words; eight columns are compared, and the caller guarantees the bounds.
        """
        kind = ir.VectorType(ir.IntType(64), WORDS)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def entry(table: int, row: int) -> Any:
                array = context.make_array(signature.args[table])(context, builder, args[table])
                width = cgutils.unpack_tuple(builder, array.shape)[1]
                start = builder.mul(width, width.type(row))
                return builder.gep(array.data, [builder.add(start, args[table + 1])])

            count_type = ir.FunctionType(kind, [kind])
            count = cgutils.get_or_insert_function(builder.module, count_type, f"llvm.ctpop.v{WORDS}i64")
            bits = ir.Constant(kind, None)
            for row in range(_ROWS):
                loaded = builder.load(builder.bitcast(entry(0, row), kind.as_pointer()))
                loaded.align = 8
                gaps = builder.xor(loaded, _spread(builder, builder.load(entry(2, row)), kind))
                bits = builder.add(bits, builder.call(count, [gaps]))
            is_near = builder.icmp_unsigned("<=", bits, _spread(builder, args[4], kind))
            return builder.zext(builder.bitcast(is_near, ir.IntType(WORDS)), ir.IntType(64))

        return types.uint64(words, types.uint64, own, types.uint64, types.uint64), codegen
