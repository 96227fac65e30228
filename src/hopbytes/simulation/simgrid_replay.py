"""Grade ``replay``: a round, or a recorded trace, as actions of MPI processes that SimGrid replays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from hopbytes._arrays import Array, Float64
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.assumed_speeds import Speeds
from hopbytes.simulation.bound import Round
from hopbytes.simulation.phase import Phase
from hopbytes.simulation.recorded_order import TO_ALL, actions_in_order, trace_of
from hopbytes.simulation.simgrid_network import ALL_PAIRS, Platform, every_pair
from hopbytes.simulation.simgrid_run import check_installed, simulated_seconds

__all__ = [
    "actions", "check_installed", "expected_seconds", "platform_file", "platform_of", "replay_seconds",
    "trace_seconds",
]

#: Bytes of a message that SimGrid's MPI can count.
MOST_BYTES = 2**30
#: Seconds of a message times the number of messages: what unlike sizes on a large network took at most.
COST = 1e-6


def platform_of(mapping: Mapping, there: Round, speeds: Speeds | None) -> Platform:
    """Return the platform of the places of a mapping.

    Messages inside a host take the bandwidth and the latency of the outermost level inside a node.
    """
    where = mapping.where
    node = where.machine.level_named(("node", "host", "server"))
    inside = where.machine.levels[0 if node is None else node + 1 :]
    rate = next((level.bandwidth for level in inside if level.bandwidth), None)
    wait = next((level.latency for level in inside if level.latency is not None), None)
    usual = (10e9, 3e-7) if speeds is None else (speeds.copy_bandwidth, speeds.copy_latency)
    copy = usual[0] if rate is None else rate, usual[1] if wait is None else wait
    return Platform(there.links, there.places, where, copy)


def platform_file(platform: Platform, there: Round) -> Iterator[bytes]:
    """Yield the platform with the routes of all pairs, or of those that talk if there are many hosts."""
    count = there.places.count
    pairs = every_pair(count) if count <= ALL_PAIRS else (there.flows.sources, there.flows.targets)
    return platform.text(*pairs)


def replay_seconds(
    platform: Platform, there: Round, phase: Phase, mapping: Mapping, timeout: float
) -> float:
    """Return the simulated seconds of all messages of a round, one process per task."""
    flows, places = there.flows, there.places
    sources, targets = flows.sources, flows.targets
    if len(np.unique(places.node)) < places.count:  # places of one node exchange messages as well
        sources, targets = every_pair(places.count)
    hosts = [platform.hosts[place] for place in places.of_task.tolist()] if places.count else []
    apart = mapping.pe[phase.sources] != mapping.pe[phase.targets]
    platform, sizes = _countable(platform, phase.bytes[apart])
    acts = actions(phase.sources[apart], phase.targets[apart], sizes, phase.tasks)
    return simulated_seconds(platform.text(sources, targets), hosts, acts, timeout=timeout)


def trace_seconds(
    platform: Platform, there: Round, graph: CommGraph, mapping: Mapping, bytes_scale: float, timeout: float
) -> float:
    """Return the simulated seconds of a recorded trace, whose messages follow one another as recorded."""
    path = trace_of(graph)
    assert path is not None
    acts = list(actions_in_order(path, graph.n))
    places, flows = there.places, there.flows
    between_any = places.count <= ALL_PAIRS or any(act.split(" ", 2)[1] in TO_ALL for act in acts)
    pairs = every_pair(places.count) if between_any else (flows.sources, flows.targets)
    hosts = [platform.hosts[place] for place in places.of_task.tolist()]
    text = _slowed(platform, bytes_scale).text(*pairs)
    return simulated_seconds(text, hosts, acts, timeout=timeout)


def _slowed(platform: Platform, factor: float) -> Platform:
    """Return the platform with 1 / factor of the bandwidths."""
    links = dataclasses.replace(platform.links, capacity=platform.links.capacity / factor)
    return dataclasses.replace(platform, links=links, copy=(platform.copy[0] / factor, platform.copy[1]))


def _countable(platform: Platform, sizes: Float64) -> tuple[Platform, Float64]:
    """Return platform and sizes in a larger unit than bytes where a size is more than an int of MPI holds.

    Bandwidths are divided by the same number, so that times are the same.
    """
    unit = float(sizes.max(initial=0.0)) / MOST_BYTES
    if unit <= 1:
        return platform, sizes
    return _slowed(platform, unit), sizes / unit


def expected_seconds(messages: int) -> float:
    """Return how long SimGrid may take at most on an unloaded core, roughly: it grows with the square."""
    return COST * messages * messages


def actions(sources: Array, targets: Array, volumes: Float64, tasks: int) -> Iterable[str]:
    """Yield the trace of one round: every process starts all of its messages and waits for them."""
    sizes = np.maximum(np.ceil(volumes), 0).astype(np.int64)
    steps: list[list[str]] = [[] for _ in range(tasks)]
    for source, target, size in zip(sources.tolist(), targets.tolist(), sizes.tolist(), strict=True):
        steps[target].append(f"{target} irecv {source} 0 {size} 6")
        steps[source].append(f"{source} isend {target} 0 {size} 6")
    for task, own in enumerate(steps):
        yield f"{task} init"
        yield from own
        if own:
            yield f"{task} waitall"
        yield f"{task} finalize"
