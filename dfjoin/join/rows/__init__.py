"""The rows of a join: read, paired, and accounted for."""
