"""Golden results of mappings over ranks in all steps: the sizes of the graphs, costs and moves.

Why golden: they are exact for a seed and a number of ranks. A change means that a step of
hopbytes.mpi.distributed.mapping does something else (hopbytes.mpi.distributed.coarsening,
hopbytes.mpi.distributed.islands, hopbytes.mpi.distributed.refinement, hopbytes.mpi.distributed.one_each, or
hopbytes.mpi.distributed.rows, which moves the numbers); look at the amounts before writing down new numbers.
"""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import mapped_over
from hopbytes.mpi.distributed import islands, mapping, refinement

TREE = "island:3@100 node:2@10 core:2@1"


def weighted(side):
    """Return a grid with unequal volumes and loads, its tasks in an order that is not that of the grid."""
    rng, base = np.random.default_rng(side), hb.read(f"stencil:{side}x{side}:bytes=1")
    name, keep = rng.permutation(base.n), base.sources() < base.targets
    tails, heads = name[base.sources()[keep]], name[base.targets[keep]]
    volume = rng.integers(1, 50, len(tails))
    return hb.CommGraph.from_edges(
        np.concatenate([tails, heads]), np.concatenate([heads, tails]), np.concatenate([volume, volume]),
        n=base.n, loads=rng.integers(1, 9, base.n),
    )


@pytest.fixture(autouse=True)
def coarsen_small_graphs(monkeypatch):
    for module, name, value in (
        (islands, "FEWEST", 300), (mapping, "FEWEST", 300), (mapping, "PER_PE", 10),
        (refinement, "LARGEST", 500),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(("side", "on", "size", "strategy", "facts"), [
    (40, TREE, 3, "islands", (233772, 617, [1600, 1600, 1600], [2172, 2126, 233772], 9719, 0)),
    (40, TREE, 7, "islands", (237498, 616, [1600, 1600, 1600], [2172, 2184, 237498], 23683, 0)),
    (40, TREE, 1, "levels", (250414, 613, [300, 623, 1600], [263246, 255862, 250414], 263246, 36)),
    (40, TREE, 4, "levels", (252894, 617, [592, 1600], [254184, 252894], 1054984, 7)),
    (30, "torus:3x3@2 / core:[1,2,1,2,1,2,1,2,1]@1", 3, "auto",
     (12830, 321, [329, 900], [12942, 12830], 39334, 2)),
    (24, "rack:2@200 island:3@100 node:5@10 core:40@1", 3, "auto", (224268, 1, [], [], 0, 0)),
    (24, "island:5@100 node:4@10 core:30@1", 6, "auto", (319776, 1, [], [], 0, 0)),
])
def test_the_work_is_what_it_was(side, on, size, strategy, facts):
    pe, info = mapped_over(size, weighted(side), on, seed=5, preset="fast", strategy=strategy)
    loads = np.bincount(pe, weights=weighted(side).loads, minlength=hb.allocate(on).k)
    assert info["imbalance"] == pytest.approx(loads.max() / loads.mean() - 1)
    (history,) = info["history"].values()
    assert facts == (
        info["comm_cost"], info["bound_kept"], history["levels"], history["costs"],
        sum(history["first_costs"]), history["moves"],
    )
