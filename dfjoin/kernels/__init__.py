"""Numba kernels: arrays and scalars in, arrays out. Nothing here knows an index, a frame or a file.

Every kernel is compiled on first use, cached on disk, releases the interpreter lock and runs on one
thread. Arrays that come from an index are read-only; so are the ones made here for them, so that each
kernel is compiled once.
"""
