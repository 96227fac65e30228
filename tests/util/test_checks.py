"""Numbers of threads that are given, and results of functions of objects whose hash takes long."""

import pytest

import hopbytes as hb
from hopbytes.errors import HopbytesError
from hopbytes.util.checks import MOST_THREADS, cpus_allowed, thread_count
from hopbytes.util.computed_once import computed_once


def test_no_more_threads_are_started_than_are_of_use():
    assert thread_count(2**40) == max(MOST_THREADS, cpus_allowed())


@pytest.mark.parametrize("threads", [2**31, 2**63 - 1])
def test_numbers_of_threads_beyond_31_bits_do_not_reach_the_core(threads):
    graph = hb.read("stencil:4x4")
    mapping = hb.map_tasks(graph, "node:4@10 core:4@1", "fast", threads=threads)
    assert mapping.comm_cost == hb.map_tasks(graph, mapping.where, "fast", threads=1).comm_cost
    assert hb.evaluate(graph, mapping, threads=threads).comm_cost == mapping.comm_cost
    hb.Remapper(graph, mapping.where, mapping, threads=threads).apply(edges=[(0, 15, 9)])


@pytest.mark.parametrize("threads", [0, -1, 2**63, 1.5, "2", True])
def test_what_is_no_number_of_threads_is_refused(threads):
    with pytest.raises(HopbytesError, match="threads"):
        hb.evaluate(hb.read("stencil:4x4"), hb.Mapping(range(16), hb.allocate("core:16@1")), threads=threads)


class Slow:
    """An object that counts how often it is hashed."""

    def __init__(self, value):
        self.value, self.hashed = value, 0

    def __hash__(self):
        self.hashed += 1
        return hash(self.value)

    def __eq__(self, other):
        return self.value == other.value


def test_an_object_is_hashed_once_and_equal_ones_share_a_result():
    computed = []

    @computed_once(2)
    def size(thing):
        computed.append(thing.value)
        return [thing.value]

    one, same = Slow(1), Slow(1)
    assert size(one) is size(one) is size(same)
    assert (one.hashed, same.hashed, computed) == (1, 1, [1])


def test_the_latest_results_are_kept_only():
    computed = []

    @computed_once(2)
    def size(thing):
        computed.append(thing.value)
        return thing.value

    things = [Slow(number) for number in range(3)]
    assert [size(thing) for thing in (*things, things[2], things[1], things[0])] == [0, 1, 2, 2, 1, 0]
    assert computed == [0, 1, 2, 0]
