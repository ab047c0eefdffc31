"""Pairs of columns: what is sampled of two tables, and which programs relate a pair."""
