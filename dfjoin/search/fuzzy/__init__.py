"""mode="fuzzy": columns with values that are spelled like those of the query, by edit distance or 3-grams."""
