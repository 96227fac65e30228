"""Mappers: algorithms that compute a mapping. ``hopbytes.mappers`` is this package."""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING

from hopbytes.algorithms import RegisteredClasses as _RegisteredClasses

if TYPE_CHECKING:  # Editors and type checkers cannot know the attributes that are loaded on demand.
    import typing as _typing

    from hopbytes.algorithms.mappers.deep_multisection import DeepMultisection as DeepMultisection
    from hopbytes.algorithms.mappers.geometric import Curve as Curve
    from hopbytes.algorithms.mappers.geometric import MultiJagged as MultiJagged
    from hopbytes.algorithms.mappers.level_by_level import (
        DualRecursiveBipartitioning as DualRecursiveBipartitioning,
    )
    from hopbytes.algorithms.mappers.level_by_level import TopDown as TopDown
    from hopbytes.algorithms.mappers.multisection import Multisection as Multisection
    from hopbytes.algorithms.mappers.orders import Identity as Identity
    from hopbytes.algorithms.mappers.orders import Random as Random
    from hopbytes.algorithms.mappers.orders import Rcm as Rcm
    from hopbytes.algorithms.mappers.orders import RoundRobin as RoundRobin
    from hopbytes.algorithms.mappers.orders import TrainingOrder as TrainingOrder
    from hopbytes.algorithms.mappers.ptram import HybridGreedy as HybridGreedy
    from hopbytes.algorithms.mappers.treematch import TreeMatch as TreeMatch
    from hopbytes.algorithms.mappers.two_phase import TwoPhase as TwoPhase
    from hopbytes.algorithms.mappers.ug import HopGreedy as HopGreedy

    def __getattr__(name: str) -> _typing.Any: ...


_sys.modules[__name__].__class__ = _RegisteredClasses
