"""Whether a candidate is a useful join: what its shared values, headers and table tell, weighed by a small model."""
