"""Refiners: algorithms that improve a mapping. ``hopbytes.refiners`` is this package."""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING

from hopbytes.algorithms import RegisteredClasses as _RegisteredClasses

if TYPE_CHECKING:  # Editors and type checkers cannot know the attributes that are loaded on demand.
    import typing as _typing

    from hopbytes.algorithms.refiners.congestion import Congestion as Congestion
    from hopbytes.algorithms.refiners.congestion import Routed as Routed
    from hopbytes.algorithms.refiners.evolve import Evolve as Evolve
    from hopbytes.algorithms.refiners.pairs import Chains as Chains
    from hopbytes.algorithms.refiners.refine_ptram import HottestLink as HottestLink
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

    def __getattr__(name: str) -> _typing.Any: ...


_sys.modules[__name__].__class__ = _RegisteredClasses
