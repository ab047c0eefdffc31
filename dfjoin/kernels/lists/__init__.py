"""Kernels over posting lists: look-ups, counts, the best columns."""
