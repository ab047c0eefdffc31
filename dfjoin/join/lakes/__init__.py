"""Joins with a lake: which table, on which columns, through which tables."""
