"""Refiners: algorithms that improve a mapping, one file each.

``hopbytes.refiners`` is this package. Every registered class is an attribute of it, including classes from
other packages. The file of a class is loaded when the attribute is first used.
"""

from __future__ import annotations

import sys as _sys
import types as _types
import typing as _typing
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Editors and type checkers cannot know the attributes that are loaded on demand.
    from hopbytes.algorithms.refiners.chains import Chains as Chains
    from hopbytes.algorithms.refiners.congestion import Congestion as Congestion
    from hopbytes.algorithms.refiners.evolve import Evolve as Evolve
    from hopbytes.algorithms.refiners.refine_ptram import HottestLink as HottestLink
    from hopbytes.algorithms.refiners.routed import Routed as Routed
    from hopbytes.algorithms.refiners.swap import Swap as Swap
    from hopbytes.algorithms.refiners.tabu import Tabu as Tabu
    from hopbytes.algorithms.refiners.umpa import CongestionSwap as CongestionSwap
    from hopbytes.algorithms.refiners.umpa import HopSwap as HopSwap
    from hopbytes.algorithms.refiners.umpa import MessageCongestionSwap as MessageCongestionSwap
    from hopbytes.algorithms.refiners.umpa import WeightedHopSwap as WeightedHopSwap
    from hopbytes.algorithms.refiners.units import (
        PairwiseRepartitioning as PairwiseRepartitioning,
    )
    from hopbytes.algorithms.refiners.units import Subtrees as Subtrees
    from hopbytes.algorithms.refiners.vcycle import VCycle as VCycle


def __getattr__(name: str) -> _typing.Any:
    from hopbytes.algorithms.base import refiners

    # Names of files are in lower case: they are imported as modules.
    found = refiners.class_named(name) if name[:1].isupper() else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    from hopbytes.algorithms.base import refiners

    return sorted(thing.__name__ for _, thing in refiners.items())


class _Names(_types.ModuleType):
    """The package; ``list(hopbytes.refiners)`` has the names of all."""

    def __iter__(self) -> _typing.Iterator[str]:
        from hopbytes.algorithms.base import refiners

        return iter(refiners)


_sys.modules[__name__].__class__ = _Names
