"""Random calls of ``map_tasks``: a pattern, a machine and options, all from one number."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from drawn_machines import Place, place

import hopbytes as hb
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.solve.presets import presets

#: What takes long has a limit of its own.
SHORT = {
    "tabu": "tabu:work=1", "evolve": "evolve:steps=1,repetitions=1,initial_partitions=1,perturbations=5",
}
OPTIONS = (
    "deep_multisection:per_child=4,fewest=10", "deep_multisection:per_child=1,fewest=1,most_children=2",
    "multisection:repetitions=2,recombinations=1,schedule=queue",
    "multisection:repetitions=3,initial_partitions=1,flow_rounds=2,contraction_limit=10",
    "multisection:schedule=nb_layer,slack=even",
    "two_phase:model=rb,refine=n_square", "treematch:shapes=4", "ug:seeds=2",
    "swap:starts=1,chains=1,steps=20,perturbations=20,subtrees=1,repartitionings=1",
    "vcycle:cycles=2,chains=2,overload_percent=50", "congestion:goal=hybrid",
    "congestion:goal=max_messages,hop_percent=10", "routed:second_start=true",
)


#: Drawn options of :func:`hopbytes.allocate`, and of :class:`hopbytes.Constraints`.
SLOTS = ("oversubscribe", "pack", "tasks_per_node", "tasks_per")
CONSTRAINTS = ("fixed", "forbidden", "initial", "migration_price", "strict")


@dataclass
class Run:
    """One call: what is mapped, where, and how."""

    number: int
    graph: hb.CommGraph
    place: Place
    options: dict[str, Any]

    def map(self, **others: Any) -> hb.Mapping:
        """Call ``map_tasks``."""
        options = {**self.options, **others}
        slots = {name: options.pop(name) for name in SLOTS if name in options}
        where = hb.allocate(self.place.where, **slots) if slots else self.place.where
        first = options.pop("mapper", None) or options.pop("preset")
        method = [first, *options.pop("refine", ())]
        given = {name: options.pop(name) for name in CONSTRAINTS if name in options}
        limits = hb.Limits(work=options.pop("work_limit", None))
        return hb.map_tasks(
            self.graph, where, method, constraints=hb.Constraints(**given), limits=limits, **options
        )

    def said(self) -> str:
        """What was drawn, in a line."""
        graph = self.graph
        numbers = f"volumes {graph.total_volume}, loads {graph.total_load}"
        return f"n={graph.n} m={graph.m} {numbers}; {self.place.said}; {self.options}"


def _weights(rng, count):
    """Volumes or loads of many kinds, int64[count] or None; they sum to 2^62 at most."""
    kind = int(rng.integers(9))
    if kind <= 1 or not count:
        return None
    if kind == 2:
        return np.full(count, int(rng.choice([0, 1, 7])), np.int64)
    if kind == 3:  # one heavy, the rest nothing or one
        values = np.full(count, int(rng.integers(2)), np.int64)
        values[rng.integers(count)] = int(rng.choice([1, 5, count + 1, 10**6, 2**40]))
        return values
    if kind == 4:
        return rng.integers(0, 2, count) * rng.integers(1, 10, count)
    if kind == 5:  # up to the very limit
        most = 2 ** int(rng.choice([45, 55, 58, 60, 62])) // count
        return np.maximum(most - rng.integers(0, 3, count) * rng.integers(0, max(2, most // 2), count), 0)
    if kind == 6:
        return np.floor(2.0 ** rng.uniform(0, 40, count)).astype(np.int64)
    return rng.integers(0, int(rng.choice([3, 100, 10**6])), count) * int(rng.choice([1, 1, 7]))


def _arcs(rng, n):
    shape = str(rng.choice(["none", "any", "any", "any", "ring", "star", "clique", "grid", "parts"]))
    if n == 0 or shape == "none":
        return np.zeros((2, 0), np.int64)
    if shape == "any":
        return rng.integers(0, n, (2, int(rng.integers(0, 4 * n + 1))))
    if shape == "ring":
        return np.stack([np.arange(n), (np.arange(n) + 1) % n])
    if shape == "star":
        return np.stack([np.full(n, rng.integers(n)), np.arange(n)])
    if shape == "clique":
        return np.stack(np.nonzero(~np.eye(min(n, 24), dtype=bool)))
    width = max(1, int(n**0.5))
    cells = np.arange(n)
    right, down = cells[(cells + 1) % width != 0], cells[cells + width < n]
    pairs = np.stack([np.concatenate([right, down]), np.concatenate([right + 1, down + width])])
    pairs = pairs[:, pairs[1] < n]
    return pairs if shape == "grid" else pairs[:, pairs[0] != n // 2]


def _graph(rng, k):
    n = int(rng.choice([0, 1, 2, max(1, k // 2), max(0, k - 1), k, k, k, k + 1, 2 * k, 8 * k, 9 * k + 1,
                        int(rng.integers(1, 10 * k + 2))]))
    n = int(rng.integers(300, 2000)) if rng.integers(80) == 0 else n
    one, other = _arcs(rng, n)
    volumes, loads = _weights(rng, len(one)), _weights(rng, n)
    messages = rng.integers(0, 50, len(one)) if rng.integers(3) == 0 else None
    if rng.integers(4):
        return hb.CommGraph.from_edges(one, other, volumes, messages, n=n, loads=loads)
    apart = one != other
    ends = np.unique(np.sort(np.stack([one, other], axis=1)[apart], axis=1), axis=0)
    values = None if volumes is None else np.tile(volumes[: len(ends)] // 2, 2)
    both = hb.CommGraph.from_edges(
        ends.T.reshape(-1), ends[:, ::-1].T.reshape(-1), values, n=n, loads=loads
    )
    return hb.CommGraph(both.indptr, both.targets, both.volumes, None, both.loads, undirected=True)


def _algorithms(rng, options, routes):
    """A preset, or a mapper; now and then refiners; a work limit for what works long.

    What needs `routes` is drawn elsewhere now and then only, where it has to be refused.
    """

    def some(registry):
        names = [*registry, *registry, *(name for name in OPTIONS if name.split(":")[0] in registry)]
        if routes or rng.integers(10) == 0:
            return names
        return [name for name in names if not registry[name.split(":")[0]].needs_routes]

    if rng.integers(5) < 3:
        options["preset"] = str(rng.choice([*presets, "best", "strong"]))
    else:
        name = str(rng.choice(some(mappers)))
        options["mapper"] = SHORT.get(name, name)
    if rng.integers(3) == 0:
        steps = rng.choice(some(refiners), int(rng.integers(1, 3))).tolist()
        options["refine"] = [SHORT.get(step, step) for step in steps]
    long = options.get("preset") in ("best", "strong", "routed") or "refine" in options
    if long or rng.integers(6) == 0:
        options["work_limit"] = int(rng.choice([0, 1, 1000, 20_000, 100_000]))


def _counts(rng, options, n, where):
    """What each PE, node or unit may hold."""
    k = where.where.k
    kind = int(rng.integers(8))
    if n > k:
        leave = [{"oversubscribe": True}, {"partition": True}]
        options.update({} if rng.integers(8) == 0 else leave[int(rng.integers(2))])
    elif rng.integers(6) == 0:
        options["partition"] = bool(rng.integers(2))
    if options.get("partition") or n > k:
        options["strict"] = bool(rng.integers(8) == 0)
    elif kind == 0:
        options["pack"] = True
    elif kind == 1:
        options["tasks_per_node"] = int(rng.integers(1, 5))
    elif kind == 2 and where.units:
        name = str(rng.choice(list(where.units)))
        options["tasks_per"] = f"{name}={int(rng.integers(1, 4))}"


def _places(rng, options, n, k):
    """Fixed and forbidden places, where tasks are now, and what moving costs."""
    kind = int(rng.integers(10))
    if not n or kind > 3:
        return
    if kind in (0, 3):
        tasks = rng.choice(n, int(rng.integers(1, n + 1)) if rng.integers(3) == 0 else 1, replace=False)
        options["fixed"] = {int(task): int(rng.integers(k)) for task in tasks}
        if n <= k:
            places = rng.permutation(k)[: len(tasks)].tolist()
            options["fixed"] = dict(zip(options["fixed"], places, strict=False))
    if kind in (1, 3):
        count = int(rng.integers(1, 2 * n + 1))
        pairs = np.stack([rng.integers(0, n, count), rng.integers(0, k, count)], axis=1)
        options["forbidden"] = [(int(task), int(pe)) for task, pe in pairs]
        if rng.integers(3) == 0:
            options["forbidden"] += [(task, int(rng.integers(k))) for task in [0]]
            closed = int(rng.integers(k))
            options["forbidden"] += [(task, closed) for task in range(n)]
    if kind in (2, 3):
        inside = n <= k and rng.integers(4)
        options["initial"] = (rng.permutation(k)[:n] if inside else rng.integers(0, k, n)).astype(np.int32)
        options["migration_price"] = int(rng.choice([0, 1, 100, 2**58 // n]))


def drawn(number: int) -> Run:
    """Draw the run of this number: the same one each time, whatever was drawn before."""
    rng = np.random.default_rng(number)
    where = place(rng, 300 if rng.integers(60) == 0 else 48)
    k = where.where.k
    graph = _graph(rng, k)
    options: dict[str, Any] = {"seed": int(rng.choice([0, 1, 2**62])), "threads": int(rng.integers(1, 4))}
    options["imbalance"] = [0.03, 0.03, 0.03, 0, 0.01, 0.1, 0.5, 1, 3][int(rng.integers(9))]
    _algorithms(rng, options, where.hops is not None)
    if rng.integers(3) == 0:
        names = [*objectives] if where.hops is not None else ["comm_cost"]
        options["objective"] = str(rng.choice(names))
    if rng.integers(8) == 0:
        options["weight"] = str(rng.choice(["messages", "unit"]))
    _counts(rng, options, graph.n, where)
    _places(rng, options, graph.n, k)
    return Run(number, graph, where, options)
