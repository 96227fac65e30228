"""Reference implementation of ``core/stream_tree.hpp``, ``stream_check.hpp`` and ``stream_sketch.hpp``."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

from hopbytes._arrays import Float64, Int32, Int64, UInt64

_WORD = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15


class Counter(IntEnum):
    """Entries of the counters of a mapping by blocks (core/stream_tree.hpp)."""

    REMAINING = 0
    FILL_ALL = 1
    FORCED = 2
    OVERFULL = 3
    MOVES = 4


class SketchCounter(IntEnum):
    """Entries of the counters of a sketch (core/stream_sketch.hpp)."""

    CLUSTERS = 0
    PAIRS = 1
