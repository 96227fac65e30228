"""map_distributed(): bounds, J and determinism for several numbers of processes, which are threads here."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import mapped_over, part_of, whole
from helpers.thorough import most
from helpers.together import together
from hopbytes.errors import HopbytesError, InfeasibleError, ScaleError
from hopbytes.mpi import Slab, map_distributed

TREE = "island:3@100 node:2@10 core:2@1"


def checked(graph, on, size, **options):
    """Map; what the run says of its result is what the whole graph says."""
    pe, info = mapped_over(size, graph, on, **options)
    where = hb.allocate(on)
    assert len(pe) == graph.n
    placed = hb.Mapping(pe, where)
    assert info["comm_cost"] == hb.evaluate(graph, placed).comm_cost
    loads = np.bincount(pe, weights=graph.task_loads(), minlength=where.k)
    assert loads.max() <= info["bound_asked"] or info["balance"] == "relaxed"
    assert info["balance"] == "met"
    assert info["empty"] == 0
    return pe, info


def grid(side, **options):
    return hb.read(f"stencil:{side}x{side}:bytes=1", **options)


def coarse_graphs_of(monkeypatch, fewest, per_pe):
    """Coarsen also the small graphs of these tests."""
    for name, value in (("islands.FEWEST", fewest), ("mapping.FEWEST", fewest), ("mapping.PER_PE", per_pe)):
        monkeypatch.setattr(f"hopbytes.mpi.distributed.{name}", value)


@pytest.mark.parametrize("size", most([1, 2, 3, 7, 16], [1, 2, 3, 7]))
@pytest.mark.parametrize("strategy", ["islands", "levels"])
def test_quality_bounds_and_answer_of_a_grid(size, strategy, monkeypatch):
    coarse_graphs_of(monkeypatch, 600, 20)
    monkeypatch.setattr("hopbytes.mpi.distributed.refinement.LARGEST", 900)
    graph = grid(80)
    pe, info = checked(graph, TREE, size, strategy=strategy, preset="fast")
    again, _ = mapped_over(size, graph, TREE, strategy=strategy, preset="fast")
    assert pe.tobytes() == again.tobytes()
    alone = hb.map_tasks(graph, TREE, "eco", partition=True, threads=1).info["comm_cost"]
    assert info["comm_cost"] <= 1.25 * alone
    history = info["history"][strategy]
    assert (size == 1 and strategy == "islands") or history["levels"][-1] == graph.n
    assert len(info["sent"]) == size
    assert size == 1 or sum(info["sent"][0].values()) > 0


def test_the_better_strategy_is_taken(monkeypatch):
    coarse_graphs_of(monkeypatch, 400, 20)
    _, info = checked(grid(50), TREE, 3, strategy="both", preset="fast")
    assert set(info["strategies"]) == {"islands", "levels"}
    assert info["comm_cost"] == min(info["strategies"].values()) == info["strategies"][info["strategy"]]


@pytest.mark.parametrize("on", ["torus:3x3@2 / core:2@1", "node:3@10 core:[1,2,4]@1", "core:1"])
def test_other_machines(on, monkeypatch):
    coarse_graphs_of(monkeypatch, 300, 10)
    _, info = checked(grid(36), on, 3, preset="fast")
    assert info["strategy"] == ("levels" if on.startswith("torus") else info["strategy"])


@pytest.mark.parametrize("seed", range(4))
def test_weights_loads_and_a_shuffled_graph(seed, monkeypatch):
    coarse_graphs_of(monkeypatch, 300, 10)
    rng = np.random.default_rng(seed)
    base = grid(48)
    name = rng.permutation(base.n).astype(np.int32)
    keep = base.sources() < base.targets
    volume = rng.integers(1, 50, int(keep.sum()))
    tails, heads = name[base.sources()[keep]], name[base.targets[keep]]
    graph = hb.CommGraph.from_edges(
        np.concatenate([tails, heads]), np.concatenate([heads, tails]), np.concatenate([volume, volume]),
        n=base.n, loads=rng.integers(1, 6, base.n),
    )
    for strategy in ("islands", "levels"):
        checked(graph, TREE, 4, preset="fast", seed=seed, strategy=strategy)


def test_heavy_tasks_and_tasks_without_load(monkeypatch):
    monkeypatch.setattr("hopbytes.mpi.distributed.islands.FEWEST", 300)
    graph = grid(40)
    loads = np.ones(graph.n, np.int64)
    loads[[5, 900]], loads[::7] = 10**6, 0
    loaded = hb.CommGraph(graph.indptr, graph.targets, graph.volumes, loads=loads, undirected=True)
    pe, info = mapped_over(3, loaded, TREE, preset="fast")
    assert info["balance"] == "met"
    assert np.count_nonzero((pe == pe[5]) & (loads > 0)) == 1
    weightless = hb.CommGraph(graph.indptr, graph.targets, loads=np.zeros(graph.n, np.int64), undirected=True)
    pe, _ = mapped_over(2, weightless, TREE, preset="fast")
    assert np.bincount(pe).max() <= 138


def test_a_hub(monkeypatch):
    """Leaves of a hub are joined in pairs, since its own cluster is soon full."""
    coarse_graphs_of(monkeypatch, 300, 10)
    n = 4000
    leaves = np.arange(1, n)
    graph = hb.CommGraph.from_edges(
        np.append(np.zeros(n - 1, np.int64), leaves), np.append(leaves, np.zeros(n - 1, np.int64)), n=n
    )
    _, info = checked(graph, TREE, 3, preset="fast", strategy="levels")
    assert info["history"]["levels"]["levels"][0] < 1000


@pytest.mark.parametrize("n", [0, 1, 5, 12, 13])
def test_few_tasks(n):
    graph = hb.CommGraph.from_edges(np.arange(max(n - 1, 0)), np.arange(1, max(n, 1)), n=n)
    graph = hb.CommGraph.from_scipy(graph.to_scipy() + graph.to_scipy().T) if n > 1 else graph
    pe, _ = mapped_over(3, graph, TREE, preset="fast")
    assert np.bincount(pe, minlength=12).max(initial=0) <= (1 if n <= 12 else 2)


def refused(kind, said, slab_of, on=TREE, size=3, **options):
    """Every process raises the same error."""
    def work(comm):
        rank = comm.Get_rank()
        with pytest.raises(kind) as caught:
            map_distributed(comm, slab_of(rank), on(rank) if callable(on) else on, **{
                key: value(rank) if callable(value) else value for key, value in options.items()
            })
        return str(caught.value)

    texts = together(size, work)
    assert len(set(texts)) == 1
    assert said in texts[0]


def test_what_is_wrong_is_raised_on_all():
    graph = grid(12)

    def good(rank):
        return part_of(graph, rank, 3)

    def one_sided(rank):
        slab = good(rank)
        return Slab(slab.indptr, slab.targets, np.full(len(slab.targets), 1 + (rank == 1)))

    def broken(rank):
        if rank == 2:
            raise HopbytesError("disk on fire")
        return good(rank)

    path = (np.array([0, 1, 2]), np.array([1, 0]))
    refused(HopbytesError, "seed", good, seed=lambda rank: rank)
    refused(HopbytesError, "machine differs", good, on=lambda rank: "core:4" if rank else "core:8")
    refused(HopbytesError, "unknown strategy", good, strategy="scenic")
    refused(HopbytesError, "unknown preset", good, preset="quick")
    refused(HopbytesError, "both with equal weights", one_sided)
    refused(HopbytesError, "disk on fire", lambda rank: (lambda: broken(rank)))
    refused(HopbytesError, "a neighbour outside", lambda rank: Slab(np.array([0, 1]), np.array([7])))
    refused(HopbytesError, "its own neighbour", lambda rank: Slab(np.array([0, 1]), np.array([rank])))
    refused(HopbytesError, "`indptr` does not ascend", lambda rank: Slab(np.array([0, 2]), np.array([1])))
    refused(HopbytesError, "not an array of int64", lambda rank: Slab(np.array([0.0]), np.array([1])))
    refused(ScaleError, "divide", lambda rank: Slab(*path, np.full(2, 2**61)), size=1)
    refused(ScaleError, "divide", lambda rank: Slab(*path, np.full(2, 2**56)), on="core:2@1000", size=1)


def test_loads_that_cannot_be_met():
    loads = np.array([5, 5, 5, 2], np.int64)
    graph = hb.CommGraph(np.zeros(5, np.int64), np.empty(0, np.int32), loads=loads, undirected=True)
    refused(
        InfeasibleError, "could not be kept", lambda rank: part_of(graph, rank, 2), on="core:2@1", size=2,
        strict_balance=True,
    )


def test_a_factor_of_all_loads_changes_no_answer():
    """The first process has loads of 0 alone, and every process has other divisors of its own."""
    plain = np.repeat([0, 2, 3], [100, 200, 100])
    found = []
    for times in (1, 7):
        rows = grid(20)
        graph = hb.CommGraph(rows.indptr, rows.targets, rows.volumes, loads=plain * times, undirected=True)
        pe, info = mapped_over(4, graph, TREE, preset="fast")
        bounds = info["bound_asked"] // times, info["bound_kept"] // times
        found.append((pe.tolist(), info["balance"], bounds))
        assert info["bound_kept"] == np.bincount(pe, weights=graph.loads).max()
    assert found[0] == found[1]


def test_slabs_together_are_the_graph():
    graph = grid(9)
    again = whole([part_of(graph, rank, 4) for rank in range(4)])
    assert again.targets.tolist() == graph.targets.tolist()
