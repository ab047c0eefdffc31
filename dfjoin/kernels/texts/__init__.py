"""Kernels over texts: canonical forms, parts, distances, features."""
