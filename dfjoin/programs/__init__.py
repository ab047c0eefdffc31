"""The language of transformation programs: steps on strings as data, as Python, as kernels and as Spark SQL."""
