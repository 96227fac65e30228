"""advise(): is another placement worth it? Candidates, their predicted times, and one recommendation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import evaluate
from hopbytes.errors import InfeasibleError
from hopbytes.machines.selection.launcher_order import launcher_placement
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.prediction import Prediction
from hopbytes.simulation.simulate import simulate
from hopbytes.solve.map_tasks import map_tasks

#: Launcher's orders that are candidates beside the usual one.
ORDERS = ("fill", "block", "cyclic")
#: Presets that are candidates; the last one on machines with a network only.
PRESETS = ("fast", "eco", "strong", "routed")
#: Seeds of every preset; their times are its spread.
SEEDS = 3
#: Share of the time below which a gain is not worth a change, and within which candidates are equal.
WORTH, EQUAL = 0.05, 0.02


@frozen(eq=False)
class Candidate:
    """A placement that was examined.

    Parameters
    ----------
    name : str
        ``order cyclic`` or ``preset eco``.
    kind : str
        ``"order"`` or ``"preset"``.
    choice : str
        The order or the preset.
    seed : int or None
        Of the best mapping of a preset.
    mapping : Mapping
    prediction : Prediction
        Of `mapping`.
    seconds : tuple of float
        Predicted seconds of all seeds, ascending.
    levels : dict of str to int
        Bytes by the level at which two tasks part.
    """

    name: str
    kind: str
    choice: str
    seed: int | None
    mapping: Mapping
    prediction: Prediction
    seconds: tuple[float, ...]
    levels: dict[str, int]

    @property
    def best(self) -> float:
        """Predicted seconds of `mapping`."""
        return self.prediction.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        facts = self.prediction.to_dict()
        kept = ("parts", "limit", "links", "bytes_between_nodes", "bytes_inside_nodes")
        return {
            "name": self.name, "kind": self.kind, "choice": self.choice, "seed": self.seed,
            "seconds": self.best, "seconds_min": self.seconds[0], "seconds_max": self.seconds[-1],
            "levels": self.levels, **{name: facts[name] for name in kept},
        }  # fmt: skip


@frozen(eq=False)
class Advice:
    """Candidates and the one that is recommended.

    Parameters
    ----------
    usual : Candidate
        The launcher's own order.
    candidates : tuple of Candidate
        `usual` first.
    recommended : Candidate
        It may be `usual`: keep what you have.
    grade : str
    rounds : int
    notices : tuple of str
    """

    usual: Candidate
    candidates: tuple[Candidate, ...]
    recommended: Candidate
    grade: str
    rounds: int
    notices: tuple[str, ...]

    @property
    def gain(self) -> float:
        """Share of the predicted time that the recommendation saves."""
        return 1 - self.recommended.best / self.usual.best if self.usual.best else 0.0

    @property
    def keep(self) -> bool:
        """Whether the advice is to keep the launcher's own order."""
        return self.recommended is self.usual


def advise(
    graph: CommGraph,
    where: Allocation,
    *,
    usual: str = "fill",
    presets: tuple[str, ...] | None = None,
    seeds: int = SEEDS,
    spread: dict[str, Any] | None = None,
    tell: Callable[[str], None] | None = None,
    **options: Any,
) -> Advice:
    """Predict the times of the launcher's orders and of presets, and recommend one placement.

    Parameters
    ----------
    graph : CommGraph
    where : Allocation
    usual : str
        The order in which the launcher places tasks without further options.
    presets : tuple of str, optional
        By default fast, eco and strong, and on networks routed.
    seeds : int
        How many seeds of every preset are mapped and simulated.
    spread : dict, optional
        Keywords of :func:`hopbytes.map_tasks` about the slots in use.
    tell : callable, optional
        Called with a sentence before a simulation that may take minutes.
    **options
        Keywords of :func:`hopbytes.simulate`.

    Returns
    -------
    Advice
        The recommendation is the launcher's own order unless something saves more than 5 % of its predicted
        time. Among candidates within 2 % of the best, an order is preferred to a preset and a preset with
        less work to one with more.

    Raises
    ------
    InfeasibleError
        There are fewer slots than tasks.
    HopbytesError
        A mapping or a simulation failed.
    """
    told = {"tell": tell} if tell is not None else {}
    settings, slots = {**options, **told}, dict(spread or {})
    network = where.machine.network() is not None
    wanted = presets if presets is not None else PRESETS if network else PRESETS[:-1]
    found: list[Candidate] = []
    for name, mapping in _orders(graph, where, usual, slots):
        prediction = simulate(graph, mapping, **settings)
        found.append(_candidate(graph, "order", name, None, [(prediction, mapping)]))
    for preset in wanted:
        runs = []
        for seed in range(seeds):
            mapping = map_tasks(graph, where, preset=preset, seed=seed, partition=False, **slots)
            runs.append((simulate(graph, mapping, **settings), mapping))
        best = min(range(seeds), key=lambda seed: (runs[seed][0].seconds, seed))
        found.append(_candidate(graph, "preset", preset, best, runs))
    every = [notice for each in found for notice in each.prediction.notices]
    first = found[0].prediction
    return Advice(
        found[0], tuple(found), _recommended(found), first.grade, first.rounds,
        (*where.notices, *dict.fromkeys(every)),
    )


def _orders(
    graph: CommGraph, where: Allocation, usual: str, slots: dict[str, Any]
) -> Iterator[tuple[str, Mapping]]:
    """Yield the usual order, then others that place tasks elsewhere."""
    seen: list[Any] = []
    for name in dict.fromkeys((usual, *ORDERS)):
        try:
            mapping = launcher_placement(where, graph.n, name, **slots)
        except InfeasibleError:
            if name == usual:
                raise
            continue
        if not any(np.array_equal(mapping.pe, other) for other in seen):
            seen.append(mapping.pe)
            yield name, mapping


def _candidate(
    graph: CommGraph, kind: str, choice: str, seed: int | None, runs: list[tuple[Prediction, Mapping]]
) -> Candidate:
    prediction, mapping = runs[seed or 0]
    levels = evaluate(graph, mapping, baselines=False).mapping.levels
    return Candidate(
        f"{kind} {choice}", kind, choice, seed, mapping, prediction,
        tuple(sorted(each.seconds for each, _ in runs)), {level.name: level.volume for level in levels},
    )


def _recommended(found: list[Candidate]) -> Candidate:
    usual, best = found[0], min(each.best for each in found)
    if best >= (1 - WORTH) * usual.best:
        return usual
    return next(each for each in found if each.best <= best * (1 + EQUAL))
