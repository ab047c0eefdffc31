"""How the keys of two tables are related: by equality, by programs, by likeness."""
