"""Kernels over vectors: training, embedding, search within a radius."""
