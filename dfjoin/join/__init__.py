"""Joins that are safe to run: keys by the index's normalisation, measured before, reported after.

`auto` decides what is joined, `tables` reads it, `keys` pairs the rows, `aggregate` makes one row per
key, `names` finds free names, `execute` builds the frame, `plan` and `report` say what was done.
"""
