"""Side-by-side measurements; ``python -m tests.benchmarks --help``."""
