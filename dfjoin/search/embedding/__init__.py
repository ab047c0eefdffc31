"""mode="embedding": columns whose values lie near those of the query, by vectors of their texts."""
