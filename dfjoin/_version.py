"""The one place for the version of dfjoin."""

__version__ = "0.1.0"
