"""Conversion between texts like ``name:key=value,key=value`` and instances of registered classes."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import os
import re
import sys
import types
import typing
from typing import Any, TypeVar

import numpy as np

from hopbytes.errors import UnsupportedError, WrongTypeError, nearest
from hopbytes.util.registry import Registry

T = TypeVar("T")

_WORDS = {int: "integer", float: "number", str: "word", bool: "true or false"}
#: Bound of integer options, which compiled code takes as 32-bit counts and limits.
LARGEST_INTEGER = 2**31 - 1
_AN_INTEGER = f"an integer from 0 to {LARGEST_INTEGER}"
#: What an option of each type must be.
_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": (_AN_INTEGER, (int, np.integer)), "str": ("a text", (str,)),
    "bool": ("True or False", (bool, np.bool_)),
}
#: A class of another module, perhaps with options.
_ELSEWHERE = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)(?::(.*))?")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def build(registry: Registry[type[T]], choice: str | T) -> T:
    """Return an instance of the class that `choice` names, with its options set."""
    if not isinstance(choice, str):
        _check_options(registry, choice)
        return choice
    name, _, text = choice.partition(":")
    name = name.strip()
    spellings = (name, name.replace("-", "_"), name.replace("_", "-"))
    spelling = next((one for one in spellings if one in registry), name)
    elsewhere = None if spelling in registry else _ELSEWHERE.fullmatch(choice.strip())
    if elsewhere is not None:
        kind, text = _imported(registry.kind, elsewhere[1], elsewhere[2]), elsewhere[3] or ""
    else:
        kind = registry[spelling]
    given: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = item.partition("=")
        key = key.strip().replace("-", "_")
        hint = _hints(kind).get(key)
        if hint is None or not equals:
            near = nearest(key.lower(), _hints(kind))
            suggestion = f" (did you mean {near[0]}={value.strip()}?)" if near else ""
            raise UnsupportedError(
                f"{registry.kind} {name!r}: option {item!r} is unknown{suggestion}, {_listed(kind)}"
            )
        if key in given:
            what = f"option {key!r} occurs twice, expected it once"
            raise UnsupportedError(f"{registry.kind} {name!r}: {what}")
        given[key] = _value(registry.kind, name, kind, key, value.strip(), hint)
    built: T = kind(**given)
    return built


def check_types(thing: Any, what: str = "") -> None:
    """Raise WrongTypeError if an option of an algorithm is not of its type; `what` names the object."""
    for field in _fields(type(thing)):
        kinds = _KINDS.get(getattr(field.type, "__name__", str(field.type)))
        value = getattr(thing, field.name)
        if kinds is None:
            continue
        truth = isinstance(value, bool) and bool not in kinds[1]  # Python takes True for the integer 1
        if truth or not isinstance(value, kinds[1]):
            what = what or type(thing).__name__
            raise WrongTypeError(f"{what}: {field.name}={value!r}, expected {kinds[0]}")


def _check_options(registry: Registry[type[T]], thing: T) -> None:
    """Raise an error if an option of an instance of a registered class has another type or range.

    Compiled code would take another number instead, or refuse it without a name. Classes of users may have
    options of any kind.
    """
    name = registry.name_of(type(thing))
    if name is None:
        return
    what = f"{registry.kind} {name!r}"
    check_types(thing, what)
    for field in _fields(type(thing)):
        value = getattr(thing, field.name)
        if field.type in ("int", int) and not 0 <= value <= LARGEST_INTEGER:
            raise UnsupportedError(f"{what}: {field.name}={value!r}, expected {_AN_INTEGER}")


def _imported(what: str, module: str, name: str) -> Any:
    """Return a class of a module, which may lie in the current folder as for ``python -m``."""
    added = "" not in sys.path and os.getcwd() not in sys.path
    if added:
        sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise UnsupportedError(f"{what} {module}:{name}: cannot be imported: {error}") from error
    finally:
        if added:
            sys.path.remove(os.getcwd())
    if not isinstance(kind, type):
        raise UnsupportedError(f"{what} {module}:{name}: there is no class of this name in {module}")
    return kind


def describe(registry: Registry[type[T]], thing: T) -> str:
    """Return the text from which :func:`build` makes an equal instance; its class if not registered."""
    name = registry.name_of(type(thing)) or type(thing).__name__
    items = [f"{field.name}={_text(getattr(thing, field.name))}" for field in _fields(type(thing))]
    return f"{name}:{','.join(items)}" if items else name


def _fields(kind: type) -> list[dataclasses.Field[Any]]:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [field for field in fields if field.init]


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in _fields(kind)}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types that an option may have: ``int | None`` gives (int, NoneType)."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def _type_word(hint: Any) -> str:
    words = ["none" if kind is type(None) else _WORDS.get(kind, str(kind)) for kind in _alternatives(hint)]
    return " or ".join(words)


def _listed(kind: type) -> str:
    items = [f"{key}={_type_word(hint)}" for key, hint in _hints(kind).items()]
    return "options: " + ", ".join(items) if items else "it has no options"


def _value(what: str, name: str, kind: type, key: str, text: str, hint: Any) -> Any:
    for wanted in _alternatives(hint):
        if wanted is type(None) and text.lower() == "none":
            return None
        if wanted is bool and text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        if wanted in (int, float, str):
            try:
                value = wanted(text)
            except ValueError:
                continue
            if wanted is int and not 0 <= value <= LARGEST_INTEGER:
                raise UnsupportedError(f"{what} {name!r}: {key}={text}, expected {_AN_INTEGER}")
            return value
    raise UnsupportedError(f"{what} {name!r}: {key}={text}, expected {_type_word(hint)} ({_listed(kind)})")


def _text(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
