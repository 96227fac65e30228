"""Compiled calls check indices and sizes of arrays before they use them."""

import contextlib
from dataclasses import asdict

import numpy as np
import pytest

from hopbytes import _core
from hopbytes.engine.changing import ArcRows, Changes, LocalSettings, PlacementState
from hopbytes.engine.dense_assignment import TabuSettings
from hopbytes.engine.partition import RefinementSettings
from hopbytes.engine.problem import DEFAULT_SEARCH, PartitionSettings
from hopbytes.engine.routed_search import Groups, Neighbourhood, Routing
from hopbytes.engine.slots import SwapSettings
from hopbytes.kernels.records import Csr, Distances
from hopbytes.kernels.routes import FORMS, Routes
from hopbytes.kernels.streaming import Block, MappingState, SketchArrays, TreeOfPes


def int32(*values):
    return np.array(values, np.int32)


def int64(*values):
    return np.array(values, np.int64)


#: A path of four vertices, and two PEs with two vertices each.
PATH = Csr(int64(0, 1, 3, 5, 6), int32(1, 0, 2, 1, 3, 2), None)
GRAPH = (*PATH, None)
LEVEL = (*PATH[:2], None, None, np.ones(4, np.int64))
NEAR = Distances(table=int64(0, 1, 1, 0))
COSTS = (int64(0, 1, 1, 1, 1), int32(1), int64(3), np.zeros(4, np.int64))
FIXED = (int64(0, 1, 1, 1, 1), int32(1), int64(0), int64(2**60, 0, 0, 0))
PE, CAPS, ONES = int32(0, 0, 1, 1), int64(4, 4), np.ones(4, np.int64)
FREE = (None, None, None, None)
REFINEMENT = asdict(RefinementSettings())
SETTINGS = REFINEMENT | REFINEMENT.pop("search") | {"threads": 1}
SETTINGS.pop("search", None)
RING = (FORMS.index("grid"), int64(1, 1, 4, 1, 0), None, None, None)
SITES = Neighbourhood(
    int32(0, 1, 2, 3, 1, 0, 2, 3, 2, 1, 3, 0, 3, 0, 2, 1), np.tile(np.arange(4, dtype=np.uint16), 4),
    np.arange(4, dtype=np.int32), np.arange(5), np.arange(4, dtype=np.int32),
)
GROUPS = Groups(PATH, ONES, ONES)
ROUTING = Routing(*RING, np.arange(4, dtype=np.int32), 8, None, 0)
APART = Distances(table=np.abs(np.subtract.outer(np.arange(4), np.arange(4))).reshape(-1))
TREE = TreeOfPes(int32(1, 3, 3, 3), int32(1, 2), int32(0, 1), np.full(6, 9), int64(1))
SKETCH = SketchArrays(
    np.arange(4, dtype=np.int32), ONES, np.zeros(16, np.uint64), np.zeros(16, np.int64), int64(0)
)


def control():
    return np.zeros(2, np.int32), np.zeros(2, np.int64)


def state():
    rows = ArcRows.of(PATH)
    held = PlacementState.of(rows, PE, ONES, np.ones(2, np.uint8), NEAR)
    return rows.arrays(), [getattr(held, name) for name in PlacementState.__slots__[:-1]]


#: Of each call its arguments, and where in them indices are.
CALLS = {
    "partition_many": (
        (GRAPH, COSTS, control(), np.zeros(4, np.int32), int64(0, 2), CAPS, np.zeros(1, np.uint64), PE,
         PartitionSettings().by_name(1), np.zeros(4, np.int32), np.zeros(1, np.int64)),
        [(0, 0), (0, 1), (1, 0), (1, 1), 3, 4, 7],
    ),
    "refine_placement": (
        (GRAPH, NEAR, COSTS, control(), CAPS, 0, SETTINGS, PE, PE), [(0, 0), (0, 1), (2, 1), 7, 8],
    ),
    "even_placement": ((GRAPH, NEAR, COSTS, control(), int64(2, 2), 0, 0, 0, PE), [(0, 1), (2, 1), 8]),
    "deep_multisection": (
        (GRAPH, NEAR, FIXED, control(), int32(0, 1), int64(1, 1), CAPS, 0,
         asdict(DEFAULT_SEARCH) | {
             "threads": 1, "heaviest": 1, "most_children": 8, "per_child": 8, "fewest": 8,
             "synchronous_rounds": 2, "initial_partitions": 1, "region_growings": 1,
         },
         np.zeros(4, np.int32)),
        [(0, 0), (0, 1), (2, 1)],
    ),
    "move_synchronously": (
        (LEVEL, NEAR, control(), CAPS, 1, 1, np.ones(4, np.uint8), PE), [(0, 0), (0, 1), 7],
    ),
    "contract_in_parallel": (
        (LEVEL, control(), PE, 2, 1, np.zeros(3, np.int64), np.zeros(6, np.int32), np.zeros(6, np.int32),
         np.empty(0, np.int64), np.zeros(2, np.int64)),
        [(0, 1), 2],
    ),
    "pair_search": (
        (GRAPH, NEAR, COSTS, control(), 3, 1, int32(0, 3), CAPS, PE, np.zeros(2, np.int64)),
        [(0, 1), (2, 1), 6, 8],
    ),
    "chain_search": (
        (GRAPH, NEAR, COSTS, control(), 2, 99, int32(0, 3), CAPS, PE, np.zeros(2, np.int64)), [6, 8],
    ),
    "swap_refine": (
        (GRAPH, NEAR, COSTS, control(), CAPS, 0, asdict(SwapSettings()) | {"threads": 1}, PE, PE,
         np.zeros(3, np.int64)),
        [(0, 1), (2, 1), 7, 8],
    ),
    "repartition_pairs": (
        (GRAPH, NEAR, FREE, control(), int32(0, 1), int64(0, 1, 2),
         {"new_bisections": 1, "rounds": 1, "budget": 99, "threads": 1}, 0, CAPS, PE, np.zeros(4, np.int64)),
        [4, 5, 9],
    ),
    "tabu_many": (
        (np.ones(4, np.int64), np.ones(4, np.int64), np.empty(0, np.int64), True, np.zeros(1, np.uint64),
         asdict(TabuSettings(2)), 1, control(), int32(0, 1), np.zeros(1, np.int64), np.zeros(1, np.int64)),
        [8],
    ),
    "anneal_blocks": (
        (np.ones(4, np.int64), np.ones(4, np.int64), np.empty(0, np.int64), True, np.ones(4, np.int64),
         int32(0, 1, 0, 1), np.ones(4, np.int64), int32(0, 1, 0, 1), np.zeros(1, np.uint64),
         {"iterations": 2, "descents": 2}, 1.0, 1, control(), int32(0, 1), int32(0, 1),
         np.zeros(1, np.int64)),
        [5, 7, 13],
    ),
    "repair": ((GRAPH, PE, CAPS, False, NEAR, control(), COSTS), [(0, 1), 1, (6, 1)]),
    "group_objects": ((PATH, 2, 99, 1, np.zeros(4, np.int32), 1), [(0, 0), (0, 1)]),
    "comm_cost_table": ((PATH, PE, NEAR.table, 1), [(0, 0), (0, 1), 1]),
    "block_weights": ((PATH, PE, 2, 1, np.zeros(4, np.int64), np.zeros(4, np.uint8)), [(0, 1), 1]),
    "induced_csr": (
        (PATH, int32(1), int32(-1, 0, -1, -1), np.zeros(2, np.int64), np.zeros(2, np.int32),
         np.empty(0, np.int64)),
        [(0, 1), 1],
    ),
    "unit_traffic": ((PATH, PE, 1, np.zeros(2, np.int64), np.zeros(2, np.int64)), [(0, 1), 1]),
    "route_hops": ((RING, int32(0, 1), int32(2, 3), np.zeros(2, np.int64)), [1, 2]),
    "hop_table": ((RING, int32(0, 3), np.zeros(4, np.uint16)), [1]),
    "link_amounts": ((RING, PATH, np.arange(4, dtype=np.int32), 0, np.zeros(8, np.int64)), [(1, 1), 2]),
    "shortest_table": ((int32(0, 1), int32(1, 0), int32(0, 1), 2, np.zeros(4, np.int32)), [0, 1, 2]),
    "fair_flows": (
        ((int64(0, 1), int64(0), np.ones(1), np.ones(1), np.ones(1), np.zeros(1)), 0.0, 1, np.ones(1),
         np.zeros(2)),
        [(0, 0), (0, 1)],
    ),
    "sum_over_routes": (
        (Routes(int64(0, 1), int64(2), None, None), 0, 3, int64(0, 1), int64(0), int64(5),
         np.zeros(2, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)),
        [(0, 0), (0, 1), 3, 4],
    ),
    "peak_after_each": (
        ((int64(0, 1), int64(2), int64(1)), np.ones(3, np.int64), np.empty(0, np.int64),
         np.zeros(1, np.int64), np.zeros(1, np.int64)),
        [(0, 0), (0, 1)],
    ),
    "hop_swap": (
        (GROUPS, SITES, APART, 4, control(), np.arange(4, dtype=np.int32)),
        [(0, 0, 1), (1, 0), (1, 2), (1, 3), (1, 4), 5],
    ),
    "routed_search": (
        (0, GROUPS, ROUTING, SITES, {"delta": 2, "paper_rule": 0, "limit": 3}, np.zeros(6),
         np.arange(4, dtype=np.int32), control(), np.arange(4, dtype=np.int32)),
        [(1, 0, 1), (2, 5), (3, 0), 8],
    ),
    "stream_assign": (
        (Block(0, *PATH), TREE, MappingState.start(4, TREE), np.zeros(6)),
        [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0)],
    ),
    "stream_cluster": ((Block(0, *PATH), SKETCH, 2, 0), [(0, 1), (0, 2)]),
    "changing_pairs": (
        (state()[0], int32(0), int32(3), int64(1), np.zeros(1, np.int64), 0), [1, 2],
    ),
    "changing_update": (
        (*state(), NEAR, LocalSettings(), Changes(sent=int32(1), sent_to=int32(1), lost=int32(0))),
        [(4, 8), (4, 10), (4, 11)],
    ),
}  # fmt: skip


def copied(value):
    """A copy of the arguments, in which calls and tests may write."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return [copied(each) for each in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize("name", CALLS)
def test_indices_outside_their_range_are_refused(name):
    arguments, places = CALLS[name]
    getattr(_core, name)(*copied(arguments))
    for place in places:
        for wrong in (9000, -9000):
            spoilt = copied(arguments)
            array = spoilt
            for step in place if isinstance(place, tuple) else (place,):
                array = array[step]
            array[-1] = wrong
            with pytest.raises(ValueError, match=r"range|fit together"):
                getattr(_core, name)(*spoilt)


@pytest.mark.parametrize("name", CALLS)
def test_no_array_that_is_too_short_ends_the_process(name):
    """Most are refused; some, as a shorter list of pairs, only mean something else."""
    arguments, places = CALLS[name]
    for place in places:
        steps = place if isinstance(place, tuple) else (place,)
        spoilt = copied(arguments)
        holder = spoilt
        for step in steps[:-1]:
            holder = holder[step]
        holder[steps[-1]] = holder[steps[-1]][:-1].copy()
        with contextlib.suppress(ValueError):
            getattr(_core, name)(*spoilt)


def test_settings_are_named_integers():
    name, (arguments, _) = "refine_placement", CALLS["refine_placement"]
    for wrong, error in (({"cycles": 0.5}, TypeError), ({"unknown": 1}, ValueError)):
        spoilt = copied(arguments)
        spoilt[6] = SETTINGS | wrong
        with pytest.raises(error):
            getattr(_core, name)(*spoilt)
