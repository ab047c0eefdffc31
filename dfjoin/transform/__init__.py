"""Joins by a learned program: strings in, programs and row pairs out; no index and no frame."""
