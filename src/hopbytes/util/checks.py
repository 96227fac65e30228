"""Checks of the arguments of public functions, so that a wrong type is reported in one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Set
from typing import Any, TypeVar

import numpy as np

from hopbytes.errors import UnsupportedError, WrongTypeError

#: Largest number of threads that are started on request.
MOST_THREADS = 1024


def thread_count(threads: int | None, name: str = "threads") -> int:
    """Return the number of threads that the caller gave under this `name`, by default one for each CPU.

    More than :data:`MOST_THREADS` and than there are CPUs are of no use; answers do not depend on them.
    """
    if threads is None:
        return cpus_allowed()
    return min(whole(name, threads, 1), max(MOST_THREADS, cpus_allowed()))


def cpus_allowed() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


T = TypeVar("T")


def name_of(what: str, value: T, *kinds: type) -> T:
    """Return `value` if it is a text or an instance of one of `kinds`."""
    if not isinstance(value, (str, *kinds)):
        expected = " or ".join(["a name", *(f"a {kind.__name__}" for kind in kinds)])
        raise WrongTypeError(f"{what} {value!r}, expected {expected}")
    return value


def whole(what: str, value: object, lowest: int) -> int:
    """Return an integer from `lowest` to 2**63 - 1 as a Python integer."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise WrongTypeError(f"{what} {value!r}, expected an integer >= {lowest}")
    if value < lowest:
        raise UnsupportedError(f"{what} {value!r}, expected an integer >= {lowest}")
    if value >= 2**63:
        raise UnsupportedError(f"{what} {value}, expected at most 2^63 - 1")
    return int(value)


def positive(what: str, value: object) -> float:
    """Return a finite number above 0 as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise WrongTypeError(f"{what} {value!r}, expected a number above 0")
    if not 0 < value < float("inf"):
        raise UnsupportedError(f"{what} {value!r}, expected a number above 0")
    return float(value)


def listed(what: str, value: object, expected: str) -> list[Any]:
    """Return what an argument lists, which are not the bytes of a text."""
    no_axes = getattr(value, "shape", None) == ()
    if not isinstance(value, Iterable) or isinstance(value, bytes) or no_axes:
        raise WrongTypeError(f"{what} {value!r}, expected {expected}")
    return list(value)


def check_functions(**given: object) -> None:
    """Raise WrongTypeError for an argument that is neither None nor callable."""
    _check(given, callable, "a function")


def check_truths(**given: object) -> None:
    """Raise WrongTypeError for an argument that is neither None nor a truth value."""
    _check(given, lambda value: isinstance(value, (bool, np.bool_)), "True or False")


def check_texts(**given: object) -> None:
    """Raise WrongTypeError for an argument that is neither None nor a text."""
    _check(given, lambda value: isinstance(value, str), "a text")


def _check(given: dict[str, object], fits: Callable[[object], bool], expected: str) -> None:
    for what, value in given.items():
        if value is not None and not fits(value):
            raise WrongTypeError(f"{what} {value!r}, expected {expected}")


def texts_of(what: str, value: object) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    if isinstance(value, str):
        return (value,)
    expected = "a text or several texts"
    texts = tuple(listed(what, value, expected))
    if not all(isinstance(text, str) for text in texts):
        raise WrongTypeError(f"{what} {value!r}, expected {expected}")
    return texts


def hosts_of(value: object) -> str | tuple[str, ...]:
    """Return hosts as a text, which may be the name of a file, or as names in their order."""
    if isinstance(value, Set):  # its order differs from one process to the next
        raise WrongTypeError(f"hosts {value!r}, expected names in an order, such as a list of them")
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    return text if isinstance(text, str) else texts_of("hosts", text)
