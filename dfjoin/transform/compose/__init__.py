"""Examples in, a program out."""
