"""The page: search, join, transform and search again, in a browser.

A state is the source of a table and the steps that were made since, plain JSON with a URL of its own. `work.py` makes
the table of a state, `steps.py` has the kinds of steps, `site.py` the addresses and their handlers. Public functions of
dfjoin compute all of it, so that the script of a state makes the same table.
"""
