"""Numbers that note each decision that would come out otherwise, had they one of some other values.

A threshold is put in place of a module's constant as a `Watched` number. It behaves as its present value; the settings
in which a comparison has another result are noted, so that only where something was noted a run with that value can
differ from the present one. What cannot be followed (a use as an integer, arithmetic with arrays) is noted as well. With
numpy 2.0 comparisons of its scalars go unnoticed: measure with a newer one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Watched", "setting"]


class Watched(float):
    """A number that also has a value in each of some settings.

    Parameters
    ----------
    value : float
        What it is now.
    others : mapping of a setting's name to float
    noted : set
        Gets the names of the settings in which something was decided otherwise.
    """

    value: float
    others: Mapping[Any, float]
    noted: set[Any]

    def __new__(cls, value: float, others: Mapping[Any, float], noted: set[Any]) -> Watched:
        made = super().__new__(cls, value)
        made.value, made.others, made.noted = value, others, noted
        return made

    def _note_all(self) -> None:
        self.noted.update(self.others)

    def __float__(self) -> float:
        self._note_all()
        return float(self.value)

    def __int__(self) -> int:
        self._note_all()
        return int(self.value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        """Follow comparisons with arrays; note all else that numpy does with it."""
        found = getattr(ufunc, method)(*map(_plain, inputs), **how)
        if ufunc not in _COMPARISONS:
            self._note_all()
            return found
        for name in self.others:
            if not np.array_equal(ufunc(*(_in_setting(one, name) for one in inputs)), found):
                self.noted.add(name)
        return found

    __hash__ = float.__hash__


_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def _settings_of(own: Watched, other: Any) -> Iterator[tuple[Any, float, Any]]:
    """Return for each setting both numbers."""
    for name in {**own.others, **(other.others if isinstance(other, Watched) else {})}:
        yield name, _in_setting(own, name), _in_setting(other, name)


def _plain(other: Any) -> Any:
    return other.value if isinstance(other, Watched) else other


def _in_setting(other: Any, name: Any) -> Any:
    return other.others.get(name, other.value) if isinstance(other, Watched) else other


def _comparing(operate: Callable[[Any, Any], Any]) -> Callable[[Watched, Any], Any]:
    def compare(self: Watched, other: Any) -> Any:
        found = operate(self.value, _plain(other))
        for name, own, theirs in _settings_of(self, other):
            if not np.array_equal(operate(own, theirs), found):
                self.noted.add(name)
        return found

    return compare


def _computing(operate: Callable[[Any, Any], Any]) -> Callable[[Watched, Any], Any]:
    def compute(self: Watched, other: Any) -> Any:
        found = operate(self.value, _plain(other))
        if np.ndim(other):
            self._note_all()
            return found
        made = {name: operate(own, theirs) for name, own, theirs in _settings_of(self, other)}
        return Watched(found, made, self.noted)

    return compute


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Watched, f"__{_name}__", _comparing(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv"):
    _operate = getattr(operator, _name)
    setattr(Watched, f"__{_name}__", _computing(_operate))
    setattr(Watched, f"__r{_name}__", _computing(lambda own, other, _operate=_operate: _operate(other, own)))


@contextmanager
def setting(places: list[tuple[ModuleType, str]], value: Any) -> Iterator[None]:
    """Give a constant another value in all modules that hold it, for a while."""
    before = [getattr(module, name) for module, name in places]
    for module, name in places:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), held in zip(places, before, strict=True):
            setattr(module, name, held)
