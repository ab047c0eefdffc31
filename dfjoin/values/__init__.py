"""Cell values: their canonical form, and what a column of them is."""
