"""Search: match the query's values to tokens, count per column, rank."""
