"""mode="fuzzy": columns with values that are spelled like those of the query, by edits or by 3-grams."""
