"""Kernels over sets: signatures, subsets, overlap."""
