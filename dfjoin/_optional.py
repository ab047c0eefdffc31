"""Optional libraries: imported where they are needed, with how to install them in the error."""

from __future__ import annotations

import importlib
from types import ModuleType

from dfjoin.errors import MissingDependencyError


def import_optional(name: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module of an optional library.

    Parameters
    ----------
    name : str
        Module to import.
    extra : str
        The extra of dfjoin that installs it.
    purpose : str
        What needs it, for the message.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs `{name.partition('.')[0]}`, which cannot be imported ({error}); "
            f'install it with: pip install "dfjoin[{extra}]"'
        ) from error
