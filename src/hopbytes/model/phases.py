"""Several phases of a program: their patterns, weights, and the exact weighted sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.model.comm_graph import PROCESSES, CommGraph
from hopbytes.util.checks import listed
from hopbytes.util.integers import MAX_SUM, check_limit


@frozen(eq=False)
class Phases:
    """The patterns of the phases of a program, with whole numbers as their weights."""

    graphs: tuple[CommGraph, ...]
    weights: tuple[int, ...]  # the given ones, times the smallest factor that makes all of them integers
    factor: int = 1

    @classmethod
    def of(cls, graphs: Sequence[CommGraph], weights: Sequence[Any] | None = None) -> Phases:
        """Return the phases of patterns, or of one with phases inside; an error where they do not fit."""
        found = tuple(graphs)
        if len(found) == 1 and found[0].phases:
            found = found[0].phases
        for graph in found[1:]:
            if graph.n != found[0].n:
                what = f"phase {graph.name} has {graph.n} tasks, but {found[0].name} has {found[0].n}"
                raise UnsupportedError(f"{what}, expected as many in each")
        given = [1] * len(found) if weights is None else weights
        exact = [_weight(weight) for weight in listed("phase weights", given, "one for each")]
        if len(exact) != len(found):
            names = ", ".join(graph.name for graph in found[:8])
            what = f"{len(exact)} phase weights for {len(found)} phases ({names}), expected one each"
            raise UnsupportedError(what)
        if not any(exact):
            raise UnsupportedError("phase weights are all 0, expected one above 0")
        factor = math.lcm(*(weight.denominator for weight in exact))
        return cls(found, tuple(int(weight * factor) for weight in exact), factor)

    def combined(self, weights: Sequence[int] | None = None) -> CommGraph:
        """Return the pattern whose J is the weighted sum of the J of all phases, exactly; O(sum of arcs)."""
        graphs, weights = self.graphs, self.weights if weights is None else weights
        scale = math.lcm(*(graph.scale for graph in graphs))
        times = [weight * (scale // graph.scale) for weight, graph in zip(weights, graphs, strict=True)]
        counted = all(graph.messages is not None for graph in graphs if graph.m)
        loaded = any(graph.loads is not None for graph in graphs)
        _check_sum("volumes", times, [graph.total_volume for graph in graphs])
        messages = [int(graph.arc_messages().sum()) for graph in graphs] if counted else ()
        _check_sum("messages", weights, messages)
        _check_sum("loads", weights, [graph.total_load for graph in graphs] if loaded else ())

        def joined(parts: list[Any], factors: Sequence[int]) -> Int64:
            return np.concatenate([part * np.int64(by) for part, by in zip(parts, factors, strict=True)])

        meta: dict[str, Any] = {"name": " + ".join(graph.name for graph in graphs)[:200]}
        if any(graph.of_processes for graph in graphs):
            meta["tasks"] = PROCESSES
        if self.factor != 1:
            meta["notices"] = [
                f"phase weights were multiplied by {self.factor} to make them integers, and so is J"
            ]
        both_ways = all(graph.undirected for graph in graphs)
        whole = CommGraph.from_edges(
            np.concatenate([graph.sources() for graph in graphs]),
            np.concatenate([graph.targets for graph in graphs]),
            joined([graph.arc_volumes() for graph in graphs], times),
            joined([graph.arc_messages() for graph in graphs], weights) if counted else None,
            n=graphs[0].n, meta=meta,
            loads=sum(graph.task_loads() * np.int64(by) for graph, by in zip(graphs, weights, strict=True))
            if loaded else None,
        )
        return replace(whole, undirected=both_ways, scale=scale, phases=graphs)


def _weight(given: Any) -> Fraction:
    """Return a weight as the decimal fraction that was written."""
    if isinstance(given, (int, np.integer, Fraction)) and not isinstance(given, bool):
        weight = given if isinstance(given, Fraction) else Fraction(int(given))
    elif str(given).isdecimal():
        weight = Fraction(str(given)[:40])
    else:
        try:
            number = float(str(given).strip())
        except ValueError:
            number = math.nan
        weight = Fraction(str(number)) if math.isfinite(number) else Fraction(-1)
    if not 0 <= weight <= MAX_SUM:
        raise UnsupportedError(f"phase weight {str(given)[:40]!r}, expected a number >= 0 such as 3 or 0.5")
    return weight


def _check_sum(what: str, times: Sequence[int], totals: Sequence[int]) -> None:
    total = max(*times, sum(by * each for by, each in zip(times, totals, strict=False)))
    check_limit(f"weighted {what} of all phases sum to {total}", total, MAX_SUM, "the phase weights")
