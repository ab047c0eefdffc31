"""Fuzzy join of two string columns that tunes itself, without labels, to a precision target."""
