"""Replays of ranks that wait for each other: the compiled kernel equals its plain twin, and cases by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes import _core
from reference import waiting_reference as twin
from reference.waiting_reference import DETACHED, EAGER, POST, RECEIVED, RENDEZVOUS, SEND, SENT

INTEGERS = {
    "kinds": np.uint8, "messages": np.int32, "protocols": np.uint8, "queues": np.int32, "paths": np.int32,
}  # fmt: skip
ORDER = ("first", "kinds", "messages", "protocols", "queues", "paths", "bytes", "start", "links", "shares",
         "latencies", "rates", "capacity")  # fmt: skip


def arguments(ranks, messages, paths, capacity):
    """Return the arrays of the kernel: steps of ranks, messages (protocol, queue, path, bytes), and paths.

    A path is (links, latency, rate).
    """
    protocols, queues, routes, sizes = zip(*messages, strict=True)
    taken, latencies, rates = zip(*paths, strict=True)
    flat = [step for steps in ranks for step in steps]
    given = {
        "first": np.cumsum([0, *map(len, ranks)]), "kinds": [kind for kind, _ in flat],
        "messages": [message for _, message in flat], "protocols": protocols, "queues": queues,
        "paths": routes, "bytes": sizes, "start": np.cumsum([0, *map(len, taken)]),
        "links": [link for links in taken for link in links],
        "shares": [1.0 for links in taken for _ in links],
        "latencies": latencies, "rates": rates, "capacity": capacity,
    }  # fmt: skip
    kinds = INTEGERS | {"first": np.int64, "start": np.int64, "links": np.int64}
    return [np.array(given[name], kinds.get(name, np.float64)) for name in ORDER]


def replay(replayed, arrays, tolerance=0.0):
    """Return the ranks that wait for ever, and the times of steps and messages."""
    times = np.empty(len(arrays[1])), np.empty(len(arrays[6])), np.empty(len(arrays[6]))
    stuck = replayed(*arrays, tolerance, np.zeros(1, np.int32), *times)
    return stuck, *(each.tolist() for each in times)


def seconds(*given):
    """Return when the last step is passed, of kernel and twin, which are equal."""
    arrays = arguments(*given)
    ours = replay(_core.replay_waiting, arrays)
    assert ours == replay(twin.replay_waiting, arrays)
    assert ours[0] == 0
    return max(ours[1])


def one_way(protocol, size=100.0):
    """Rank 0 sends to rank 1, which posts its receive after a message of 7 seconds has come from rank 2."""
    ranks = [
        [(SEND, 0), (SENT, 0)], [(POST, 1), (RECEIVED, 1), (POST, 0), (RECEIVED, 0)], [(SEND, 1), (SENT, 1)],
    ]  # fmt: skip
    messages = [(protocol, 0, 0, size), (EAGER, 1, 1, 60.0)]
    return ranks, messages, [([0], 1.0, math.inf), ([1], 1.0, math.inf)], [10.0, 10.0]


def test_protocols():
    """A latency of 1 and 10 seconds of data: from time 0 if eager, else from 7, when the receive is there."""
    assert seconds(*one_way(EAGER)) == 11
    assert seconds(*one_way(DETACHED)) == seconds(*one_way(RENDEZVOUS)) == 18
    passed = {way: replay(_core.replay_waiting, arguments(*one_way(way)))[1] for way in range(3)}
    assert [passed[way][1] for way in (EAGER, DETACHED, RENDEZVOUS)] == [0, 0, 18]


def test_messages_of_a_queue_follow_each_other():
    """Two messages on one link: both end at 21 if they share it, and one at 11 if they are of one queue."""
    ranks = [[(SEND, 0), (SEND, 1)], [(POST, 0), (POST, 1), (RECEIVED, 0), (RECEIVED, 1)]]
    for queues, first in (((0, 1), 21), ((0, 0), 11)):
        messages = [(EAGER, queue, 0, 100.0) for queue in queues]
        given = ranks, messages, [([0], 1.0, math.inf)], [10.0]
        assert seconds(*given) == 21
        assert replay(_core.replay_waiting, arguments(*given))[1][4] == first


def test_simultaneous_messages_keep_the_order_of_their_steps():
    """A message with a higher number that is sent first is not behind the other one."""
    ranks = [[(SEND, 1), (SEND, 0)], [(POST, 0), (POST, 1), (RECEIVED, 1), (RECEIVED, 0)]]
    given = ranks, [(EAGER, 0, 0, 100.0), (EAGER, 0, 0, 0.0)], [([0], 1.0, math.inf)], [10.0]
    assert replay(_core.replay_waiting, arguments(*given))[1][4:] == [1.0, 11.0]


def test_a_rank_that_waits_for_ever_is_counted():
    ranks = [[(POST, 0), (RECEIVED, 0)], [(POST, 1), (RECEIVED, 1), (SEND, 0)], [(SEND, 1)]]
    given = ranks, [(EAGER, 0, 0, 8.0)] * 2, [([0], 1.0, math.inf)], [10.0]
    assert replay(_core.replay_waiting, arguments(*given))[0] == 0
    cut = [*ranks[:2], []], *given[1:]
    arrays = arguments(*cut)
    assert replay(_core.replay_waiting, arrays) == replay(twin.replay_waiting, arrays)
    assert replay(_core.replay_waiting, arrays)[0] == 2


def test_a_link_without_capacity_ends_the_replay():
    given = [[(SEND, 0)], [(POST, 0), (RECEIVED, 0)]], [(EAGER, 0, 0, 8.0)], [([0], 1.0, math.inf)], [0.0]
    arrays = arguments(*given)
    assert replay(_core.replay_waiting, arrays) == replay(twin.replay_waiting, arrays)
    assert replay(_core.replay_waiting, arrays)[0] == 1


@pytest.mark.parametrize(("name", "value"), [("messages", 9), ("paths", 7), ("queues", -1), ("links", 5)])
def test_arrays_that_do_not_fit_are_refused(name, value):
    arrays = arguments(*one_way(EAGER))
    arrays[ORDER.index(name)][0] = value
    with pytest.raises(ValueError, match=r"range|fit"):
        replay(_core.replay_waiting, arrays)


@st.composite
def programs(draw):
    """Return ranks that exchange messages in one order, which therefore ends, on random paths."""
    pick = draw(st.randoms(use_true_random=False)).randint
    n, links = pick(2, 5), pick(1, 4)
    paths = [
        ([pick(0, links - 1) for _ in range(pick(0, 3))], pick(0, 3) / 4, float(pick(1, 9)))
        for _ in range(pick(1, 5))
    ]
    ranks, last, messages = [[] for _ in range(n)], [[] for _ in range(n)], []
    for message in range(pick(1, 14)):
        source = pick(0, n - 1)
        target = (source + pick(1, n - 1)) % n
        path = pick(0, len(paths) - 1)
        messages.append((pick(0, 2), n * source + target, path, float(pick(0, 9))))
        ranks[source].append((SEND, message))
        ranks[target].append((POST, message))
        (ranks if pick(0, 1) else last)[source].append((SENT, message))
        (ranks if pick(0, 1) else last)[target].append((RECEIVED, message))
    used = sorted({queue for _, queue, _, _ in messages})
    messages = [(way, used.index(queue), path, size) for way, queue, path, size in messages]
    capacity = [float(pick(1, 5)) for _ in range(links)]
    return [steps + ends for steps, ends in zip(ranks, last, strict=True)], messages, paths, capacity


@settings(max_examples=300, deadline=None)
@given(programs(), st.sampled_from([0.0, 1e-6, 0.1]))
def test_the_kernel_equals_its_twin(program, tolerance):
    arrays = arguments(*program)
    ours, plain = (replay(each, arrays, tolerance) for each in (_core.replay_waiting, twin.replay_waiting))
    assert ours == plain
