"""Results that are computed once for each object, kept in it or beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def kept(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Keep what a method returns, whatever its arguments, in the dictionary `_cache` of its object."""
    name = method.__name__

    @wraps(method)
    def look_up(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        of_object: Any = arguments[0]
        if name not in of_object._cache:
            of_object._cache[name] = method(*arguments, **options)
        found: Result = of_object._cache[name]
        return found

    return look_up


def computed_once(most: int) -> Callable[[Callable[[Argument], Result]], Callable[[Argument], Result]]:
    """Keep the latest results of a function of one immutable argument, at most so many.

    Equal arguments share a result, as with :func:`functools.lru_cache`, but an object for which the result is
    known is recognised by its identity. It is hashed once only, since the hash of a machine from a file takes
    as long as reading all of its routes.
    """

    def make(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
        by_value = lru_cache(maxsize=most)(function)
        recent: list[tuple[Argument, Result]] = []

        def look_up(argument: Argument) -> Result:
            for known, result in tuple(recent):
                if known is argument:
                    return result
            result = by_value(argument)
            recent.insert(0, (argument, result))
            del recent[most:]
            return result

        return look_up

    return make
