"""Fuzzy join of two string columns at a precision that is estimated without labels."""
