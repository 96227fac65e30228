"""Time of the messages inside nodes: a process copies what it sends, one message after the other."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Array, Float64, Int32
from hopbytes._frozen import frozen
from hopbytes.machines.base import NODE_NAMES, Level
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.assumed_speeds import Speeds, missing
from hopbytes.simulation.phase import Phase


@frozen(eq=False)
class InsideNodes:
    """Seconds that the PEs need for messages inside their nodes."""

    seconds: Float64  # float64[k]: Per PE, the longer of all it sends and all it receives
    longest: float  # seconds of the longest single message
    bytes: float  # bytes of a round between PEs of one node
    messages: int
    notices: tuple[str, ...] = ()


def copies_inside(phase: Phase, mapping: Mapping, speeds: Speeds | None, unit: Int32) -> InsideNodes:
    """Return the time of messages inside nodes; O(messages x levels).

    `unit`, int32[k], is the node of every PE, or what takes its place (:class:`Places`). A message takes the
    latency and the bandwidth of the outermost level at which its two PEs differ. All messages of a PE share
    its bandwidth, and none with other PEs: memory is taken to be fast enough.
    """
    where, pe = mapping.where, mapping.pe
    source, target = pe[phase.sources], pe[phase.targets]
    here = (unit[source] == unit[target]) & (source != target)
    source, target, volume = source[here], target[here], phase.bytes[here]
    level_of = _level_of(where, source, target)
    seconds, latency = np.zeros(len(volume)), np.zeros(len(volume))
    without: list[str] = []
    for number in np.unique(level_of).tolist():
        level = where.machine.levels[number]
        per_byte, wait = _speeds_of(level, speeds, without)
        of = level_of == number
        seconds[of], latency[of] = volume[of] * per_byte, wait
    out = np.bincount(source, weights=seconds, minlength=where.k)
    into = np.bincount(target, weights=seconds, minlength=where.k)
    busy = np.maximum(out, into)
    notices = []
    if without and speeds is not None:
        what = f"{speeds.copy_bandwidth / 1e9:g} GB/s, {speeds.copy_latency * 1e6:g} us"
        notices.append(f"inside nodes, {what} are assumed for {', '.join(dict.fromkeys(without))}")
    longest = float((seconds + latency).max(initial=0.0))
    return InsideNodes(busy, longest, float(volume.sum()), len(volume), tuple(notices))


def _level_of(where: object, source: Int32, target: Int32) -> Array:
    """Return the number of the outermost level inside the node at which two PEs differ."""
    from hopbytes.model.allocation import Allocation

    assert isinstance(where, Allocation)
    machine, first = where.machine, where.first_core
    node = machine.level_named(NODE_NAMES)
    found = np.full(len(source), len(machine.levels) - 1, np.int64)
    open_pairs = np.ones(len(source), bool)
    for number in range(0 if node is None else node + 1, len(machine.levels)):
        unit = machine.ancestors(number)[first]
        parting = open_pairs & (unit[source] != unit[target])
        found[parting] = number
        open_pairs &= ~parting
    return found


def _speeds_of(level: Level, speeds: Speeds | None, without: list[str]) -> tuple[float, float]:
    if level.bandwidth is not None and level.latency is not None:
        return 1 / level.bandwidth, level.latency
    if speeds is None:
        raise missing(f"bandwidth or latency of level {level.name}")
    without.append(level.name)
    bandwidth = speeds.copy_bandwidth if level.bandwidth is None else level.bandwidth
    return 1 / bandwidth, speeds.copy_latency if level.latency is None else level.latency
