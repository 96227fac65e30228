"""Integer caps: known answers of the decisions, and what must hold for any loads."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes.errors import ScaleError, UnsupportedError
from hopbytes.model.capacities import (
    child_bounds,
    common_divisor,
    count_bounds,
    exact_imbalance,
    group_sums,
    integer_root,
    load_bound,
    shares_in_order,
    sum_of,
    sure_loads,
)

THREE_PERCENT = Fraction(3, 100)


@pytest.mark.parametrize("bad", [-0.01, float("nan"), float("inf"), "much", None])
def test_imbalance_that_is_no_slack_is_refused(bad):
    with pytest.raises(UnsupportedError, match="imbalance"):
        exact_imbalance(bad)


@pytest.mark.parametrize(
    ("given_as", "exact"),
    [("3%", THREE_PERCENT), (0.03, THREE_PERCENT), (" 0.999 ", Fraction(999, 1000)), ("100%", 1),
     ("250%", 2.5), (0, 0), (Fraction(7, 2), Fraction(7, 2)), (1, None), ("1", None),
     (Fraction(-1, 2), None), ("-3%", None)],
)  # fmt: skip
def test_a_whole_number_is_no_imbalance_unless_in_per_cent(given_as, exact):
    if exact is None:
        with pytest.raises(UnsupportedError):
            exact_imbalance(given_as)
    else:
        assert exact_imbalance(given_as) == exact


SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(st.lists(st.integers(0, 9), max_size=30), SIZES, st.booleans())
def test_a_task_is_on_the_pe_in_whose_part_its_middle_lies(loads, sizes, plain):
    loads = [1] * len(loads) if plain else loads
    ends = [sum(loads) * sum(sizes[: pe + 1]) // sum(sizes) for pe in range(len(sizes))]
    counts, before = [0] * len(sizes), 0
    for load in loads:
        middle = before + load // 2
        counts[next((pe for pe, end in enumerate(ends) if middle < end), len(sizes) - 1)] += 1
        before += load
    given_loads = None if plain else np.array(loads, np.int64)
    assert shares_in_order(given_loads, len(loads), sizes).tolist() == counts


@given(st.integers(0, 50), SIZES, st.integers(0, 40))
def test_tasks_without_load_are_bounded_by_shares_rounded_up(tasks, sizes, percent):
    found = count_bounds(tasks, np.array(sizes), Fraction(percent, 100)).tolist()
    assert found == [-(-(100 + percent) * tasks * size // (100 * sum(sizes))) for size in sizes]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), SIZES, st.integers(0, 30))
def test_bounds_of_unequal_pes_are_those_of_the_definition(loads, sizes, percent):
    """The heaviest task has the largest PE for itself if it exceeds its share, then the next, and so on."""
    divisor = int(np.gcd.reduce(loads))
    bound = load_bound(np.array(loads), len(loads), np.array(sizes), Fraction(percent, 100))
    if divisor == 0 or set(loads) == {divisor}:
        rest, free, heavy = len(loads), sum(sizes), 0
    else:
        units, large = sorted((load // divisor for load in loads), reverse=True), sorted(sizes, reverse=True)
        heavy = 0
        while heavy < min(len(sizes) - 1, len(units)):
            rest, free = sum(units[heavy:]), sum(large[heavy:])
            if units[heavy] <= (100 + percent) * rest * large[heavy] // (100 * free):
                break
            heavy += 1
        rest, free = sum(units[heavy:]), sum(large[heavy:])
    shares = [max((100 + percent) * rest * size // (100 * free), -(-rest * size // free)) for size in sizes]
    assert bound.heavy == heavy
    assert bound.caps.tolist() == [max(1, min(share, max(rest, 1))) for share in shares]
    if bound.loads is not None:
        most = max(bound.caps) if heavy else max(loads)
        assert bound.loads.tolist() == [min(load // divisor, most) for load in loads]


def test_the_common_divisor_of_many_loads():
    loads = np.full(9000, 30)
    for place, load, expected in ((4095, 45, 15), (4096, 45, 15), (8999, 6, 6), (8192, 7, 1)):
        changed = loads.copy()
        changed[place] = load
        assert common_divisor(changed) == expected


def test_imbalance_is_taken_as_written():
    """In binary 1.1 * 2^60 / 2 would be off by tens; the decimal meaning is exact."""
    loads = np.array([2**59, 2**58 + 1, 2**58 - 1])
    assert load_bound(loads, 3, np.ones(2, np.int64), exact_imbalance(0.1)).caps[0] == 11 * 2**60 // 20


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(1, 5), st.integers(1, 9),
    st.sampled_from(["0", "3%", "0.1", "7.5%", "200%"]),
)
def test_ceil_is_the_bound_of_sharedmap(loads, unit, k, slack):
    """L_max = ceil((1 + slack) c / k) for loads as they are given, whatever divides all of them."""
    given_loads, imbalance = np.array(loads, np.int64) * unit, exact_imbalance(slack)
    bound = load_bound(given_loads, len(loads), np.ones(k, np.int64), imbalance, ceil=True)
    most = -(-int(given_loads.sum()) * (1 + imbalance) // k)
    if max(given_loads) <= most:
        divisor = int(np.gcd.reduce(given_loads))
        total = int(given_loads.sum()) // divisor
        assert not bound.heavy
        assert set(bound.caps.tolist()) == {min(max(most // divisor, -(-total // k)), total)}
    else:
        assert bound.heavy or k == 1 or bound.loads is None


@pytest.mark.parametrize("loads", [None, np.zeros(65, np.int64), np.ones(65, np.int64)])
def test_loads_of_nothing_or_one_count_tasks(loads):
    bound = load_bound(loads, 65, np.ones(64, np.int64), THREE_PERCENT)
    assert bound.loads is None
    assert set(bound.caps.tolist()) == {2}


@given(
    loads=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    capacity=st.lists(st.integers(1, 3), min_size=1, max_size=9),
    times=st.integers(1, 2**50),
    percent=st.integers(0, 30),
)
def test_a_factor_of_all_loads_does_not_change_the_bound(loads, capacity, times, percent):
    array, sizes = np.array(loads, np.int64), np.array(capacity, np.int64)
    plain = load_bound(array, len(loads), sizes, Fraction(percent, 100))
    larger = load_bound(array * times, len(loads), sizes, Fraction(percent, 100))
    assert np.array_equal(larger.caps, plain.caps)
    assert np.array_equal(larger.loads, plain.loads)
    assert larger.heavy == plain.heavy
    assert larger.unit == (plain.unit * times if any(loads) else 1)


def test_loads_beyond_two_to_the_62_are_refused_with_a_factor():
    with pytest.raises(ScaleError, match="divide them by 2 or more"):
        load_bound(np.array([2**62, 2**61]), 2, np.ones(2, np.int64), THREE_PERCENT)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("groups", [1, 2, 300, 20_000])
@pytest.mark.parametrize("items", [0, 1, 2, 1024, 1025, 40_001, 90_000])
def test_sums_per_group_are_exact(items, groups, threads):
    """Few items and many groups are added in one place, others by ranges of items."""
    random = np.random.default_rng(items + groups)
    group = np.sort(random.integers(0, groups, items)).astype(np.int32)
    values = random.integers(-(2**45), 2**45, items)
    expected = np.zeros(groups, np.int64)
    np.add.at(expected, group, values)
    assert np.array_equal(group_sums(group, values, groups, threads), expected)
    assert np.array_equal(group_sums(group, None, groups, threads), np.bincount(group, minlength=groups))


@pytest.mark.parametrize("group", [[0, 3], [-1, 0]])
def test_a_group_that_does_not_exist_is_refused(group):
    with pytest.raises(IndexError, match="expected 0 to 2"):
        group_sums(np.array(group, np.int32), None, 3)


def test_the_sum_of_all_may_exceed_63_bits():
    assert sum_of(np.full(5, 2**62)) == 5 * 2**62
    assert sum_of(np.array([-(2**63), -1])) == -(2**63) - 1


def uniform_split(load, children, pes_per_child, leaf_cap, levels_left):
    shares = np.full(children, pes_per_child, np.int64)
    return child_bounds(load, shares, shares * leaf_cap, levels_left)


def test_known_caps_on_the_way_down_a_three_level_machine():
    """2^17 unit tasks on 4:16:32 at 3 %: real-valued caps (261) would need more than 4 * 65 at the end."""
    caps = load_bound(None, 2**17, np.ones(2048, np.int64), Fraction(3, 100)).caps
    assert set(caps.tolist()) == {65}
    assert set(uniform_split(2**17, 32, 64, 65, 3).tolist()) == {4117}
    assert set(uniform_split(4117, 16, 4, 65, 2).tolist()) == {258}
    assert set(uniform_split(258, 4, 1, 65, 1).tolist()) == {65}


def test_known_caps_of_the_published_example():
    """800 unit tasks, 4:2, 10 %: the worst half holds 419 and its blocks still end at 110."""
    caps = load_bound(None, 800, np.ones(8, np.int64), Fraction(1, 10)).caps
    assert set(caps.tolist()) == {110}
    assert uniform_split(800, 2, 4, 110, 2).tolist() == [419, 419]
    assert uniform_split(419, 4, 1, 110, 1).tolist() == [110] * 4


def test_a_child_gets_no_more_than_its_leaves_hold():
    """Two children of equal share, but one has room for 6 only: 13 each would be the even slack."""
    assert child_bounds(10, np.array([1, 1]), np.array([6, 20]), levels_left=1).tolist() == [6, 13]


def test_no_load_means_no_constraint():
    assert uniform_split(0, 2, 4, 7, 2).tolist() == [28, 28]


@given(
    load=st.integers(1, 2**60),
    pes=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    percent=st.integers(0, 50),
    levels=st.integers(1, 7),
)
def test_children_hold_the_load_and_leaves_hold_the_children(load, pes, percent, levels):
    """Caps always leave room for everything, and never promise more than the leaves below can hold."""
    shares = np.array(pes, np.int64)
    k = sum(pes)
    leaf = max((100 + percent) * load // (100 * k), -(-load // k))
    caps = child_bounds(load, shares, shares * leaf, levels)
    assert int(caps.sum()) >= load
    assert np.all(caps <= shares * leaf)
    assert np.all(caps >= -(-load * shares.astype(object) // k))


def test_sure_loads_are_all_of_it_where_tasks_count_one_each():
    assert sure_loads(np.array([64, 3]), np.array([64 * 65, 9]), 1).tolist() == [4160, 9]
    assert sure_loads(np.array([4, 2]), np.array([40, 4]), 6).tolist() == [25, 0]


@given(
    caps=st.lists(st.integers(5, 40), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=200),
)
def test_sure_loads_fit_in_any_order(caps, sizes):
    """Tasks up to the sure load, each on the first PE with room: none is left over."""
    sure = int(sure_loads(np.array([len(caps)]), np.array([sum(caps)]), 5)[0])
    held = [0] * len(caps)
    for size in sizes:
        if sum(held) + size <= sure:
            held[next(pe for pe, load in enumerate(held) if load + size <= caps[pe])] += size


@given(value=st.integers(0, 2**400), degree=st.integers(1, 9))
def test_integer_root_is_exact(value, degree):
    root = integer_root(value, degree)
    assert root**degree <= value < (root + 1) ** degree


def test_heavy_tasks_fill_a_pe_and_the_rest_is_bounded_among_itself():
    """A hub of a quarter of all load on 64 PEs must not let every PE hold a quarter."""
    loads = np.ones(301, np.int64)
    loads[17] = 100
    bound = load_bound(loads, 301, np.ones(64, np.int64), THREE_PERCENT)
    assert bound.heavy == 1
    assert set(bound.caps.tolist()) == {5}  # ceil(300 / 63)
    assert bound.loads[17] == 5
