"""Mappers: algorithms that compute a mapping, one file each.

``hopbytes.mappers`` is this package. Every registered class is an attribute of it, including classes from
other packages. The file of a class is loaded when the attribute is first used.
"""

from __future__ import annotations

import sys as _sys
import types as _types
import typing as _typing
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Editors and type checkers cannot know the attributes that are loaded on demand.
    from hopbytes.algorithms.mappers.geometric import Curve as Curve
    from hopbytes.algorithms.mappers.geometric import MultiJagged as MultiJagged
    from hopbytes.algorithms.mappers.integrated import Integrated as Integrated
    from hopbytes.algorithms.mappers.level_by_level import (
        DualRecursiveBipartitioning as DualRecursiveBipartitioning,
    )
    from hopbytes.algorithms.mappers.level_by_level import TopDown as TopDown
    from hopbytes.algorithms.mappers.multisection import Multisection as Multisection
    from hopbytes.algorithms.mappers.orders import Identity as Identity
    from hopbytes.algorithms.mappers.orders import Random as Random
    from hopbytes.algorithms.mappers.orders import Rcm as Rcm
    from hopbytes.algorithms.mappers.orders import RoundRobin as RoundRobin
    from hopbytes.algorithms.mappers.ptram import HybridGreedy as HybridGreedy
    from hopbytes.algorithms.mappers.training_order import TrainingOrder as TrainingOrder
    from hopbytes.algorithms.mappers.treematch import TreeMatch as TreeMatch
    from hopbytes.algorithms.mappers.two_phase import TwoPhase as TwoPhase
    from hopbytes.algorithms.mappers.ug import HopGreedy as HopGreedy


def __getattr__(name: str) -> _typing.Any:
    from hopbytes.algorithms.base import mappers

    # Names of files are in lower case: they are imported as modules.
    found = mappers.class_named(name) if name[:1].isupper() else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    from hopbytes.algorithms.base import mappers

    return sorted(thing.__name__ for _, thing in mappers.items())


class _Names(_types.ModuleType):
    """The package; ``list(hopbytes.mappers)`` has the names of all."""

    def __iter__(self) -> _typing.Iterator[str]:
        from hopbytes.algorithms.base import mappers

        return iter(mappers)


_sys.modules[__name__].__class__ = _Names
