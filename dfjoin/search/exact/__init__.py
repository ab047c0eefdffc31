"""Exact search: match by equality, count in posting lists, choose a plan."""
