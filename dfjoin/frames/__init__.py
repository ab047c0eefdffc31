"""Frames of other libraries: how they come in and go out.

polars, pyarrow, DuckDB and all that offer the Arrow C stream give their columns as Arrow. Joins work on these, in a
pandas frame that only holds them (`given_frame.GivenFrame`), and each kind makes a frame of its own of the result.
"""
