"""Immutable values: classes with slots that are defined quickly, and arrays that nothing can write into.

``@frozen`` gives what ``@dataclass(frozen=True, slots=True)`` gives: fields and their defaults, comparison,
hashing, a readable text, pickling, ``dataclasses.replace``, ``fields`` and ``asdict``, and the support of
type checkers. Before Python 3.13 the standard library compiles six methods for each such class when the class
is defined, which takes 0.9 ms, and one command defines ninety of them. Here only ``__init__`` is compiled for
each class, and all classes share the other methods, which takes 0.25 ms.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options):
        """Return a decorator that changes nothing; only type checkers read what it says."""
        return lambda function: function


Class = TypeVar("Class")
Given = TypeVar("Given", bound="NDArray[Any] | None")


@overload
def frozen(cls: type[Class], /) -> type[Class]: ...
@overload
def frozen(
    *, eq: bool = True, repr: bool = True, owns: tuple[str, ...] = ()
) -> Callable[[type[Class]], type[Class]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, eq: bool = True, repr: bool = True, owns: tuple[str, ...] = ()) -> Any:
    """Make a class an immutable dataclass with slots."""

    def make(cls: Any) -> Any:
        own = vars(cls)
        if repr and "__repr__" not in own:
            cls.__repr__ = _text
        if eq and "__eq__" not in own:
            cls.__eq__ = _equal
            if own.get("__hash__") is None:
                cls.__hash__ = _hash
        if any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:]):
            # The standard library demands that all classes of a family are frozen in its own way.
            return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
        cls.__setattr__ = _set_owned(owns) if owns else _set_once
        cls.__delattr__ = _refuse_to_delete
        made = dataclass(slots=True, eq=False, repr=False)(cls)
        made.__dataclass_params__.frozen = True
        return made

    return make if cls is None else make(cls)


def field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class or object, in their order."""
    return tuple(field.name for field in fields(kind))


def _set_once(self: Any, name: str, value: object) -> None:
    """Set an attribute that has no value yet, as ``__init__`` does; every later change is refused."""
    if hasattr(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _set_owned(owns: tuple[str, ...]) -> Callable[[Any, str, object], None]:
    """Return what sets an attribute once, with arrays of some names in memory of their own."""
    import numpy as np

    def set_once(self: Any, name: str, value: object) -> None:
        _set_once(self, name, owned(value) if name in owns and isinstance(value, np.ndarray) else value)

    return set_once


def _refuse_to_delete(self: object, name: str) -> None:
    """Refuse to delete an attribute."""
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _compared(self: Any) -> tuple[Any, ...]:
    """Return the values of the fields that are compared."""
    return tuple(getattr(self, field.name) for field in fields(self) if field.compare)


def _equal(self: Any, other: object) -> Any:
    """Return whether the other object is of the same class and has equal fields."""
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    """Return a hash of the fields that are compared."""
    return hash(_compared(self))


@reprlib.recursive_repr()
def _text(self: Any) -> str:
    """Return the class and its fields, as they are written in Python."""
    values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({values})"

class _Memory:
    """The memory of an array that nothing writes into any more; no array over it can be made writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        facts = array.__array_interface__
        self.__array_interface__ = {**facts, "data": (facts["data"][0], True)}


def own(array: Given) -> Given:
    """Return an array, if it is one, read-only and without a copy; nothing else may keep its memory."""
    if array is None or _is_owned(array):
        return array
    import numpy as np

    return np.asarray(_Memory(array))  # type: ignore[return-value]


def owned(array: Given) -> Given:
    """Return an array read-only, in memory that nothing else can write into: a copy unless it is there.

    Compiled code relies on what was checked when an object was made. A caller may write into an array later,
    or into another array over the same memory, even while it is checked; so this comes before the check.
    """
    import numpy as np

    return array if array is None or _is_owned(array) else own(np.array(array))  # type: ignore[return-value]


def _is_owned(array: NDArray[Any]) -> bool:
    import numpy as np

    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, (_Memory, bytes))
