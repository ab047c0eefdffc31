"""Search for columns that join after a learned program."""
