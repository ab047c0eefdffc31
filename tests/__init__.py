"""Tests: one folder a package."""

import sys

# pytest takes some ten seconds to rewrite the asserts of all tests and of hypothesis, so what it has made is kept,
# whatever PYTHONDONTWRITEBYTECODE says; compiled kernels are kept beside the sources, too.
sys.dont_write_bytecode = False
