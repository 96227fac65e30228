"""Numbers of threads that are given, and results of functions of objects whose hash takes long."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import HopbytesError, UnsupportedError, WrongTypeError
from hopbytes.util.checks import (
    MOST_THREADS,
    check_functions,
    check_texts,
    check_truths,
    cpus_allowed,
    name_of,
    texts_of,
    thread_count,
    whole,
)
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


@pytest.mark.parametrize("value", [3, 2**63 - 1, np.int64(3), np.uint8(7)])
def test_integers_from_a_bound_to_63_bits(value):
    found = whole("size", value, 3)
    assert (found, type(found)) == (int(value), int)
    assert cpus_allowed() == thread_count(None)


@pytest.mark.parametrize(
    ("value", "error"),
    [(2, UnsupportedError), (2**63, UnsupportedError), (True, WrongTypeError), (3.0, WrongTypeError),
     ("3", WrongTypeError), (None, WrongTypeError)],
)  # fmt: skip
def test_other_numbers_are_refused(value, error):
    with pytest.raises(error, match="size"):
        whole("size", value, 3)


def test_kinds_of_arguments():
    assert name_of("thing", "a") == "a"
    assert name_of("thing", 3, int) == 3
    check_functions(one=len, other=None)
    check_truths(one=True, other=None, third=np.bool_(False))
    check_texts(one="a", other=None)
    for check, wrong in ((check_functions, "len"), (check_truths, 1), (check_texts, b"a")):
        with pytest.raises(WrongTypeError, match="other"):
            check(one=None, other=wrong)
    with pytest.raises(WrongTypeError, match="expected a name or a int"):
        name_of("thing", 3.5, int)
    assert texts_of("files", "a") == ("a",)
    assert texts_of("files", ["a", "b"]) == texts_of("files", np.array(["a", "b"])) == ("a", "b")
    for wrong in (b"ab", 3, np.array("a"), ["a", 3]):
        with pytest.raises(WrongTypeError, match="files"):
            texts_of("files", wrong)


def test_limits_of_a_run():
    assert not hb.Limits().limited
    assert not hb.Limits(stop=lambda: False).limited
    assert hb.Limits(time=0).limited
    assert hb.Limits(work=0).limited
    for wrong in ({"time": True}, {"time": float("inf")}, {"time": "1"}, {"work": -1}):
        with pytest.raises(HopbytesError):
            hb.Limits(**wrong)
    with pytest.raises(WrongTypeError, match="stop"):
        hb.Limits(stop=3)
