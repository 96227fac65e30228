"""advise(): is another mapping worth it? Candidates, their predicted times, and one recommendation."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import evaluate
from hopbytes.errors import InfeasibleError
from hopbytes.formats.base import WAITING
from hopbytes.launch.in_words import IN_WORDS, near_in_words
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.ml import MEGATRON_OPTIONS, is_training, rank_orders, training_of
from hopbytes.show.predictions import GRADES, LIMITS, TWO_TIMES, both_times
from hopbytes.show.verdict import CHANGE, KEEP, WORTH, Verdict, verdict
from hopbytes.simulation.simulate import Prediction, simulate
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.text.columns import table_lines
from hopbytes.util.quantities import duration, short_amount

#: Launcher's orders that are candidates beside the usual one, and how launchers are asked for them.
ORDERS = {
    "fill": "mpirun -n {n} ./app (Slurm: srun -n {n} --distribution=block:block ./app)",
    "block": "srun -n {n} --distribution=block ./app",
    "cyclic": "srun -n {n} --distribution=cyclic ./app (Open MPI: mpirun -n {n} --map-by node ./app)",
}
UNDO = "Nothing is installed or changed: start the program as before, without these options and files."
#: Presets that are candidates; the last one on machines with a network only.
PRESETS = ("fast", "eco", "strong", "routed")
#: Seeds of every preset; their times are its spread.
SEEDS = 3
#: Share of the time within which candidates are equal.
EQUAL = 0.02
#: Links that are named for the launcher's order and for the recommendation.
LINKS = 3


@frozen(eq=False)
class Candidate:
    """A mapping that was examined."""

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

    def beside(self, usual: Candidate) -> float:
        """Predicted seconds, in proportion to those of `usual` under the protocol with the smaller gain."""
        return usual.best * self.prediction.beside(usual.prediction)

    def to_dict(self) -> dict[str, Any]:
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
        own = self.usual if self.recommended is None else self.recommended
        return 1 - own.beside(self.usual) / self.usual.best if self.usual.best else 0.0


def advise(
    graph: CommGraph,
    where: Allocation,
    *,
    usual: str = "fill",
    presets: tuple[str, ...] | None = None,
    seeds: int = SEEDS,
    announce: Callable[[str], None] | None = None,
    **options: Any,
) -> Advice:
    """Predict the times of the launcher's orders and of presets, and recommend one mapping."""
    if options.get("grade") is None and WAITING in graph.meta:
        options["grade"] = "waiting"
    network = where.machine.network() is not None
    wanted = presets if presets is not None else PRESETS if network else PRESETS[:-1]
    orders = list(_orders(graph, where, usual))
    known: dict[bytes, Prediction] = {}

    def predicted(name: str, mapping: Mapping) -> Prediction:
        pes = mapping.pe.tobytes()
        if pes not in known:
            if announce is not None and options.get("grade") == "replay":
                most = len(orders) + len(wanted) * seeds
                announce(f"replay {len(known) + 1} of at most {most}: {name}")
            known[pes] = simulate(graph, mapping, **options, announce=announce)
        return known[pes]

    candidates = []
    for name, mapping in orders:
        candidates.append(_candidate(graph, "order", name, None, [(predicted(name, mapping), mapping)]))
    for preset in wanted:
        runs = []
        for seed in range(seeds):
            mapping = map_tasks(graph, where, preset, seed=seed, partition=False)
            runs.append((predicted(f"preset {preset}, seed {seed}", mapping), mapping))
        first = candidates[0].prediction
        best = min(range(seeds), key=lambda seed: (runs[seed][0].beside(first), runs[seed][0].seconds))
        candidates.append(_candidate(graph, "preset", preset, best, runs))
    judged, choice = _judged(graph, candidates)
    first = candidates[0].prediction
    notices = dict.fromkeys(notice for one in candidates for notice in one.prediction.notices)
    if choice is not None and choice.kind == "preset" and not is_training(graph):
        notices |= dict.fromkeys(near_in_words(graph, choice.mapping, *IN_WORDS))
    return Advice(
        candidates[0], tuple(candidates), choice, judged, is_training(graph), first.grade, first.rounds,
        (*where.notices, *notices),
    )


def _orders(graph: CommGraph, where: Allocation, usual: str) -> Iterator[tuple[str, Mapping]]:
    """Yield the usual order, then others that map otherwise: those of launchers, or of Megatron-LM."""
    first = launcher_placement(where, graph.n, usual, where.use)
    others: dict[str, Callable[[], Mapping]] = {}
    training = training_of(graph)
    if training is not None:
        used, info = np.sort(first.pe), {"problem": "processes", "mapper": "training-order"}
        for name, rank in rank_orders(training).items():
            if name in MEGATRON_OPTIONS:
                others[name] = partial(Mapping, used[rank], where, info)
    elif not is_training(graph):
        for name in ORDERS:
            others[name] = partial(launcher_placement, where, graph.n, name, where.use)
    seen = {first.pe.tobytes()}
    yield usual, first
    for name, make in others.items():
        try:
            mapping = make()
        except InfeasibleError:
            continue
        if mapping.pe.tobytes() not in seen:
            seen.add(mapping.pe.tobytes())
            yield name, mapping


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
        tuple(sorted(one.seconds for one, _ in runs)), {level.name: level.volume for level in levels},
    )


def _judged(graph: CommGraph, candidates: list[Candidate]) -> tuple[Verdict, Candidate | None]:
    """Return the verdict on the best candidate, or a simpler one that is equal; and what is recommended."""
    usual, others = candidates[0], candidates[1:] or candidates
    if usual.prediction.grade == "bound":  # an equal bound does not say that a mapping is equal
        moved = [one for one in others if not np.array_equal(one.mapping.pe, usual.mapping.pe)]
        others = moved or others
    least = min(one.beside(usual) for one in others)
    # Of equal ones the simplest; one that is worth a change has to stay so.
    most = max(least, min(least * (1 + EQUAL), (1 - WORTH) * usual.best))
    best = next(one for one in others if one.beside(usual) <= most)
    evaluation = dataclasses.replace(
        evaluate(graph, best.mapping, random_seeds=0, launcher=usual.choice),
        in_order=evaluate(graph, usual.mapping, baselines=False).mapping,
    )
    judged = verdict(
        graph, best.mapping, evaluation, name=best.name, usual=usual.mapping,
        predictions=(usual.prediction, best.prediction),
    )
    return judged, {KEEP: usual, CHANGE: best}.get(str(judged.decision))


def to_type(advice: Advice, pattern: str, machine: str) -> list[str]:
    """Return the commands of the recommendation; none where everything stays as it is."""
    chosen = advice.recommended
    if chosen is None or chosen is advice.usual:
        return []
    file, spec = shlex.quote(pattern), shlex.quote(machine)
    preset = chosen.kind == "preset"
    seed = f" --seed {chosen.seed}" if chosen.seed else ""
    method = f" --preset {chosen.choice}{seed}" if preset else ""
    by_mesh = [  # these start a program of torch.distributed on a mapping
        f"hopbytes map {file} --on {spec}{method} --format mesh -o mesh.py",
        "sh mesh.py.sh train.py  # on every host; train.py calls torch_mesh() of mesh.py",
    ]
    if not preset and chosen.choice in MEGATRON_OPTIONS:
        return [f"Megatron-LM: {MEGATRON_OPTIONS[chosen.choice]}", *by_mesh]
    if not preset:
        return [ORDERS[chosen.choice].format(n=chosen.mapping.n)]
    return by_mesh if advice.training else [
        f"hopbytes map {file} --on {spec}{method} -o placed.json",
        f"hopbytes run --pattern {file}{method} -- mpirun -n {chosen.mapping.n} ./app",
    ]  # fmt: skip


def advice_record(advice: Advice, pattern: str, machine: str) -> dict[str, Any]:
    """Return what ``advise --json`` prints."""
    chosen = advice.recommended
    return {
        "recommendation": advice.verdict.sentence, "verdict": advice.verdict.to_dict(),
        "keep": advice.verdict.keep, "recommended": None if chosen is None else chosen.name,
        "usual": advice.usual.name, "gain": advice.gain, "type": to_type(advice, pattern, machine),
        "undo": UNDO, "grade": advice.grade, "rounds": advice.rounds, "machine": machine,
        "candidates": [one.to_dict() for one in advice.candidates], "notices": list(advice.notices),
    }  # fmt: skip


def advice_text(advice: Advice, pattern: str, machine: str) -> str:
    """Return the recommendation, what to type, and the table of candidates."""
    commands = to_type(advice, pattern, machine)
    lines = advice.verdict.sentences + [f"  {command}" for command in commands]
    lines += [*([UNDO] if commands else []), "", *_table(advice), ""]
    for one in dict.fromkeys((advice.usual, advice.recommended)):
        lines += [] if one is None else _details(one)
    lines.append(f"Predicted by {GRADES[advice.grade]}; computation is not part of it.")
    lines += [TWO_TIMES] if advice.usual.prediction.posted_seconds is not None else []
    return "\n".join(lines)


def table_head(text: str) -> str:
    """Return the line of an advice that names the columns of its table."""
    return next(line for line in text.split("\n") if line.endswith("limited by"))


def _table(advice: Advice) -> list[str]:
    rows = [("", f"{'seconds':>9}", f"{'of all seeds':>19}", f"{'change':>7}", "between nodes", "limited by")]
    for one in advice.candidates:
        span = f"{duration(one.seconds[0])} to {duration(one.seconds[-1])}" if len(one.seconds) > 1 else ""
        change = one.beside(advice.usual) / advice.usual.best - 1 if advice.usual.best else 0.0
        rows.append((
            one.name, both_times(one.prediction), span, "" if one is advice.usual else f"{change:+.0%}",
            short_amount(one.prediction.bytes_between_nodes * advice.rounds, "B"),
            LIMITS[one.prediction.limit],
        ))  # fmt: skip
    return table_lines(rows, "<>>>><")


def _details(one: Candidate) -> list[str]:
    levels = ", ".join(f"{name} {short_amount(volume, 'B')}" for name, volume in one.levels.items())
    lines = [f"{one.name}: bytes by level: {levels}"] if levels else []
    hot = ", ".join(f"{name} ({short_amount(size, 'B')})" for name, size, _ in one.prediction.links[:LINKS])
    return [*lines, f"{one.name}: busiest links in a round: {hot}"] if hot else lines
