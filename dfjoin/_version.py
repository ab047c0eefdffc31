"""The one place for the version of dfjoin."""

__version__ = "0.2.0"
