"""What is counted from a trace of multisection."""

import pytest

from bench.papers import schedules as bench
from hopbytes.algorithms.multisection.scheduling import SCHEDULES

#: A root of 100 arcs, halves of 60 and 40, each with two parts of 10.
TRACE = [
    {"path": "/", "vertices": 8, "arcs": 100},
    {"path": "/0", "vertices": 4, "arcs": 60},
    {"path": "/1", "vertices": 4, "arcs": 40},
    *({"path": f"/{half}/{part}", "vertices": 2, "arcs": 10} for half in (0, 1) for part in (0, 1)),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_thread_does_all_the_work_whatever_the_schedule(schedule):
    assert bench.counted(schedule, 1, TRACE, 1, "tries") == 240


def test_a_layer_lasts_as_long_as_its_longest_piece():
    assert bench.counted("layer", 2, TRACE, 1, "tries") == 100 + 60 + 20
    # Without barriers the smaller half goes on below while the larger one is cut.
    assert bench.counted("nb_layer", 2, TRACE, 1, "tries") == 100 + 60 + 10 + 10
    assert bench.counted("queue", 2, TRACE, 1, "tries") == 100 + 60 + 10


def test_threads_divide_tries_or_everything():
    assert bench.counted("naive", 4, TRACE, 2, "tries") == 120
    assert bench.counted("naive", 4, TRACE, 2, "linear") == 60


def test_the_critical_path_is_the_longest_way_down():
    assert bench.critical_path(TRACE, 1) == 100 + 60 + 10
