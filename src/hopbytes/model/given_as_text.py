"""Patterns, machines and mappings that are given as text: a file, or the spec of a generator or machine.

Higher packages read them. They are found by name when they are needed, as pictures are (:mod:`.drawn`).
"""

from __future__ import annotations

import importlib
import os
from typing import Any, TypeGuard


def is_text(thing: object) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether something is the name of a file, or a spec."""
    return isinstance(thing, (str, os.PathLike))


def read_pattern(text: str | os.PathLike[str]) -> Any:
    """Return the CommGraph of a file or a spec; see :func:`hopbytes.read_pattern`."""
    return importlib.import_module("hopbytes.formats.reading").read_pattern(text)


def read_mapping(text: str | os.PathLike[str]) -> Any:
    """Return the stored Mapping of a file; see :func:`hopbytes.read_mapping`."""
    return importlib.import_module("hopbytes.formats.reading").read_mapping(text)


def allocation_of(thing: object) -> Any:
    """Return the Allocation of a machine or its spec; see :func:`hopbytes.allocate`."""
    return importlib.import_module("hopbytes.solve.sides").place_side(thing)
