"""Golden work counters of the compiled engine.

Why golden: they are exact for a fixed seed, on every machine, while seconds are not. A change here means
the search itself changed (or became nondeterministic); look at the amount before writing down new numbers.
Searches of localised FM count the moves that are made in the end: those that a search takes back were counted
as well before searches ran side by side.
"""

import numpy as np

from helpers.engine_cases import cost_of, cut_once, distances
from helpers.graphs import grid_csr
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings
from hopbytes.engine.slots import swap_refine


def measured():
    csr, rng = grid_csr(24), np.random.default_rng(0)
    matrix, near = distances("tree", 16, rng)
    _, cut = cut_once(csr, [144] * 4, PartitionSettings(search=SearchSettings(flow_rounds=1)), seed=1)
    start = (np.arange(576) * 16 // 576).astype(np.int32)
    pe, moves = refine_placement(
        SearchProblem(csr, distances=near), start, np.full(16, 40), RefinementSettings(cycles=1),
        control=RunControl(seed=1),
    )
    swapped, evaluations, *_ = swap_refine(
        SearchProblem(csr, distances=near), start[rng.permutation(576)], np.full(16, 576),
        control=RunControl(seed=1),
    )
    return {
        "cut": cut, "moves": moves, "cost": cost_of(csr, matrix, pe),
        "evaluations": evaluations, "swapped cost": cost_of(csr, matrix, swapped),
    }


def test_the_same_work_every_time():
    assert measured() == measured()


def test_the_work_is_what_it_was():
    assert measured() == {
        "cut": 58, "moves": 177, "cost": 1555, "evaluations": 257980, "swapped cost": 3891,
    }
