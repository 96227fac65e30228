"""advise(): is another placement worth it? Candidates, their predicted times, and one recommendation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import evaluate
from hopbytes.errors import InfeasibleError
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.ml import MEGATRON_OPTIONS, is_training, rank_orders, training_of
from hopbytes.report.verdict import CHANGE, KEEP, WORTH, Verdict, verdict
from hopbytes.simulation.simulate import Prediction, simulate
from hopbytes.solve.map_tasks import map_tasks

#: Launcher's orders that are candidates beside the usual one.
ORDERS = ("fill", "block", "cyclic")
#: Presets that are candidates; the last one on machines with a network only.
PRESETS = ("fast", "eco", "strong", "routed")
#: Seeds of every preset; their times are its spread.
SEEDS = 3
#: Share of the time within which candidates are equal.
EQUAL = 0.02


@frozen(eq=False)
class Candidate:
    """A placement that was examined."""

    name: str  # ``order cyclic`` or ``preset eco``
    kind: str  # ``"order"`` or ``"preset"``
    choice: str  # the order or the preset
    seed: int | None  # of the best mapping of a preset
    mapping: Mapping
    prediction: Prediction  # of `mapping`
    seconds: tuple[float, ...]  # predicted seconds of all seeds, ascending
    levels: dict[str, int]  # bytes by the level at which two tasks part

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
    """Candidates and the one that is recommended."""

    usual: Candidate  # the launcher's own order
    candidates: tuple[Candidate, ...]  # `usual` first
    #: it may be `usual`: keep what you have. None: not decided, since there are only bounds of the time.
    recommended: Candidate | None
    #: on the recommended candidate; where `usual` is kept or nothing decided, on the best one
    verdict: Verdict
    training: bool  # the program is a training job, which no MPI launcher starts
    grade: str
    rounds: int
    notices: tuple[str, ...]

    @property
    def gain(self) -> float:
        """Share of the predicted time that the recommendation saves."""
        return 0.0 if self.recommended is None else 1 - _ratio(self.recommended, self.usual)


def advise(
    graph: CommGraph,
    where: Allocation,
    *,
    usual: str = "fill",
    presets: tuple[str, ...] | None = None,
    seeds: int = SEEDS,
    tell: Callable[[str], None] | None = None,
    **options: Any,
) -> Advice:
    """Predict the times of the launcher's orders and of presets, and recommend one placement."""
    settings = {**options, "tell": tell}
    network = where.machine.network() is not None
    wanted = presets if presets is not None else PRESETS if network else PRESETS[:-1]
    found: list[Candidate] = []
    orders = list(_orders(graph, where, usual))
    known: dict[bytes, Prediction] = {}
    most = len(orders) + len(wanted) * seeds

    def predicted(name: str, mapping: Mapping) -> Prediction:
        placed = mapping.pe.tobytes()
        if placed not in known:
            if tell is not None and options.get("grade") == "replay":
                tell(f"replay {len(known) + 1} of at most {most}: {name}")
            known[placed] = simulate(graph, mapping, **settings)
        return known[placed]

    for name, mapping in orders:
        found.append(_candidate(graph, "order", name, None, [(predicted(name, mapping), mapping)]))
    for preset in wanted:
        runs = []
        for seed in range(seeds):
            mapping = map_tasks(graph, where, preset, seed=seed, partition=False)
            runs.append((predicted(f"preset {preset}, seed {seed}", mapping), mapping))
        best = min(range(seeds), key=lambda seed: (runs[seed][0].seconds, seed))
        found.append(_candidate(graph, "preset", preset, best, runs))
    every = [notice for each in found for notice in each.prediction.notices]
    judged, choice = _judged(graph, found)
    first = found[0].prediction
    return Advice(
        found[0], tuple(found), choice, judged, is_training(graph), first.grade, first.rounds,
        (*where.notices, *dict.fromkeys(every)),
    )


def _orders(graph: CommGraph, where: Allocation, usual: str) -> Iterator[tuple[str, Mapping]]:
    """Yield the usual order, then others that place tasks elsewhere and that the launcher can be told."""
    first = launcher_placement(where, graph.n, usual, where.use)
    seen: list[Any] = [first.pe]
    yield usual, first
    for name, make in _others(graph, where, first):
        try:
            mapping = make()
        except InfeasibleError:
            continue
        if not any(np.array_equal(mapping.pe, other) for other in seen):
            seen.append(mapping.pe)
            yield name, mapping


def _others(
    graph: CommGraph, where: Allocation, first: Mapping
) -> list[tuple[str, Callable[[], Mapping]]]:
    """Return orders by name: those of MPI launchers, or for a training job those that Megatron-LM has."""
    training = training_of(graph)
    if not is_training(graph):
        return [(name, partial(launcher_placement, where, graph.n, name, where.use)) for name in ORDERS]
    if training is None:
        return []
    orders, used = rank_orders(training), np.sort(first.pe)
    info = {"problem": "processes", "mapper": "training-order"}
    return [
        (name, partial(Mapping, used[rank], where, info))
        for name, rank in orders.items()
        if name in MEGATRON_OPTIONS
    ]


def _candidate(
    graph: CommGraph, kind: str, choice: str, seed: int | None, runs: list[tuple[Prediction, Mapping]]
) -> Candidate:
    prediction, mapping = runs[seed or 0]
    levels = evaluate(graph, mapping, baselines=False).mapping.levels
    name = f"{kind} {choice}"
    if kind == "order" and is_training(graph):
        name = "ranks in order" if choice == "fill" else f"rank order {choice}"
    return Candidate(
        name, kind, choice, seed, mapping, prediction,
        tuple(sorted(each.seconds for each, _ in runs)), {level.name: level.volume for level in levels},
    )


def _judged(graph: CommGraph, found: list[Candidate]) -> tuple[Verdict, Candidate | None]:
    """Return the verdict on the best candidate, or a simpler one that is equal; and what is recommended."""
    usual, others = found[0], found[1:] or found
    if usual.prediction.grade == "bound":  # an equal bound does not say that a placement is equal
        moved = [each for each in others if not np.array_equal(each.mapping.pe, usual.mapping.pe)]
        others = moved or others
    least = min(each.best for each in others)
    # Of equal ones the simplest; one that is worth a change has to stay so.
    most = max(least, min(least * (1 + EQUAL), (1 - WORTH) * usual.best))
    best = next(each for each in others if each.best <= most)
    evaluation = dataclasses.replace(
        evaluate(graph, best.mapping, random_seeds=0, launcher=usual.choice),
        in_order=evaluate(graph, usual.mapping, baselines=False).mapping,
    )
    judged = verdict(
        graph, best.mapping, evaluation, name=best.name, usual=usual.mapping,
        predictions=(usual.prediction, best.prediction),
    )
    return judged, {KEEP: usual, CHANGE: best}.get(str(judged.decision))


def _ratio(one: Candidate, usual: Candidate) -> float:
    return one.best / usual.best if usual.best else 1.0
