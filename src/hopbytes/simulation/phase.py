"""The communication phase that is predicted: the messages of one round, and the number of rounds."""

from __future__ import annotations

import math

import numpy as np

from hopbytes._arrays import Bool, Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.model.comm_graph import CommGraph


@frozen(eq=False)
class Phase:
    """One round of a pattern: every arc of it is one message, and all messages start at once."""

    tasks: int
    sources: Int32  # int32[messages]: Tasks; messages of a task to itself are left out
    targets: Int32  # int32[messages]
    bytes: Float64  # float64[messages]: Size of each message of a round
    rounds: int  # equal rounds, one after the other, that make up the pattern
    notices: tuple[str, ...] = ()  # what was assumed


def phase_of(graph: CommGraph, *, bytes_scale: float = 1.0, iterations: int | None = None) -> Phase:
    """Return the phase of a pattern."""
    if not (math.isfinite(bytes_scale) and bytes_scale > 0):
        raise FormatError("`bytes_scale`", None, f"{bytes_scale}, expected a number above 0")
    if iterations is not None and iterations < 1:
        raise FormatError("`iterations`", None, f"{iterations}, expected an integer >= 1")
    sources = graph.sources()
    kept = sources != graph.targets
    notices: list[str] = []
    rounds = iterations
    if rounds is None:
        rounds = _rounds_recorded(graph.messages, kept)
        if rounds > 1:
            notices.append(
                f"{rounds} rounds, the median number of messages between two tasks (`iterations` sets it)"
            )
    volumes = graph.arc_volumes()[kept] * (bytes_scale / (graph.scale * rounds))
    return Phase(graph.n, sources[kept], graph.targets[kept], volumes, rounds, tuple(notices))


def _rounds_recorded(messages: Int64 | None, kept: Bool) -> int:
    if messages is None or not kept.any():
        return 1
    return max(1, int(np.median(messages[kept])))


