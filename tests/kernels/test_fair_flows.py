"""Flows that share links: the compiled kernel against its plain twin, and cases computed by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes import _core
from hopbytes.errors import HopbytesError
from hopbytes.kernels.routes import STEPS, Routes, fair_flow_seconds
from reference import fair_flows_reference as twin


def listed(*paths):
    """Return routes that take these links."""
    start = np.cumsum([0, *map(len, paths)])
    return Routes(start, np.array([link for path in paths for link in path], np.int64), None, None)


def seconds(routes, capacity, latency, volumes, **options):
    """Return the time of flows given as lists."""
    arrays = (np.array(each, np.float64) for each in (capacity, latency, volumes))
    return fair_flow_seconds(routes, *arrays, **options)


def test_what_one_flow_leaves_goes_to_others():
    """Link 0 has flows a and b, link 1 b and c: all get 1/2, then c has what b leaves."""
    routes = listed([0], [0, 1], [1])
    assert seconds(routes, [1.0, 1.0], [0, 0, 0], [1, 1, 1]) == pytest.approx(2)
    assert seconds(routes, [1.0, 10.0], [0, 0, 0], [1, 1, 19]) == pytest.approx(2)
    # b ends at 2 (half of link 0); until then c gets 9.5 of link 1, then all 10 of it.
    assert seconds(routes, [1.0, 10.0], [0, 0, 0], [1, 1, 29]) == pytest.approx(3)


def test_shares_are_in_inverse_proportion_of_latencies():
    """Twice the latency gets half as much: 2/3 and 1/3, beginning at 1 and 2."""
    routes = listed([0], [0])
    # The first alone from 1 to 2; then 1/3 of the other takes 1.5 seconds for half a byte, in which the
    # first sends 1; then the other has the link alone.
    assert seconds(routes, [1.0], [1, 2], [2, 1]) == pytest.approx(2 + 1.5 + 0.5)


def test_flows_without_bytes_or_links():
    assert seconds(listed([], []), [], [0.5, 0.25], [10, 10]) == 0.5
    assert seconds(listed([0]), [1.0], [3.0], [0]) == 3.0
    assert seconds(listed(), [], [], []) == 0
    assert seconds(listed([0]), [0.0], [0], [1]) == np.inf


def test_shares_of_several_paths():
    """Half of the flow over each of two links."""
    halves = Routes(np.array([0, 2]), np.array([0, 1]), np.array([1, 1]), np.array([2, 2]))
    assert seconds(halves, [1.0, 4.0], [0], [10]) == pytest.approx(5)


def test_the_caller_can_stop():
    def stop():
        raise HopbytesError("enough")

    many = listed(*([0] for _ in range(2 * STEPS)))
    with pytest.raises(HopbytesError, match="enough"):
        seconds(many, [1.0], [0] * 2 * STEPS, range(1, 1 + 2 * STEPS), go_on=stop)


@st.composite
def cases(draw):
    """Return arguments of the kernel: random routes, some empty, with several paths or a link twice.

    No two flows are equal, since rounding decides which of two simultaneous events comes first, which may
    differ between kernel and twin.
    """
    pick = draw(st.randoms(use_true_random=False)).randint
    links, flows = pick(1, 6), pick(1, 12)
    lengths = [pick(0, 4) for _ in range(flows)]
    start = np.cumsum([0, *lengths])
    taken = np.array([pick(0, links - 1) for _ in range(start[-1])], np.int64)
    share = np.array([pick(1, 4) / 4 for _ in taken], np.float64)
    capacity = np.array([pick(1, 5) for _ in range(links)], np.float64)
    wait = np.array([pick(0, 3) / 2 for _ in range(flows)], np.float64)
    left = np.array([pick(0, 9) for _ in range(flows)], np.float64)
    unequal = 1 + np.random.default_rng(pick(0, 2**32 - 1)).random((2, flows)) / 7
    wait, left = wait * unequal[0], left * unequal[1]
    penalty = np.where(wait > 0, wait, 1.0)
    return ((start, taken, share, capacity, penalty, wait), pick(0, 2) / 10, pick(0, 30)), left


@settings(max_examples=200, deadline=None)
@given(cases())
def test_the_kernel_equals_its_twin(case):
    arguments, left = case
    ours, theirs = left.copy(), left.copy()
    clock, plain = np.zeros(2), np.zeros(2)
    assert _core.fair_flows(*arguments, ours, clock) == twin.fair_flows(*arguments, theirs, plain)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert clock == pytest.approx(plain, rel=1e-9)


def test_steps_delay_the_end_by_little():
    """The tolerance frees links late, never early on one link, and by at most that share per step."""
    rng = np.random.default_rng(1)
    paths = [rng.choice(20, 3, replace=False).tolist() for _ in range(300)]
    volumes, routes = rng.uniform(1, 100, 300), listed(*paths)
    exact, stepped = (seconds(routes, [1.0] * 20, [0.1] * 300, volumes, tolerance=t) for t in (0, 1e-3))
    assert stepped == pytest.approx(exact, rel=3e-3)
    assert stepped != exact
