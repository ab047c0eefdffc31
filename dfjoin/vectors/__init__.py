"""Texts and numbers as vectors: embedders, metrics, and the trees in which vectors are found by distance."""
