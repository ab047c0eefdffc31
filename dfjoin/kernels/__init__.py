"""Numba kernels: arrays, named tuples of them and scalars in, arrays out, without a frame or a file.

Every kernel is compiled on first use, cached on disk, releases the interpreter lock and runs on one
thread. Arrays that are only read come read-only, as those of an index do, so that each kernel is compiled
once; most kernels allocate nothing, and a function beside them makes the arrays that they fill. A kernel
that would have to read outside an array raises `dfjoin.kernels.damage.DamagedArraysError`.
"""
