"""The four schedules: who gets what when, in simulated time, and that the placement never depends on it."""

import heapq
import json
import os
from itertools import pairwise

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import grid
from hopbytes.algorithms.multisection.hierarchy import Subproblem
from hopbytes.algorithms.multisection.scheduling import SCHEDULES
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.kernels.records import Csr

WHERE = hb.allocate(hierarchy="4:3:4", distance="1:10:100")


def subproblem(path, size):
    return Subproblem(
        len(path), 0, path, None, Csr(np.zeros(size + 1, np.int64), np.empty(0, np.int32), None), None, None
    )


def simulated(name, threads, tree, depth):
    """Carry out a schedule on pieces of sizes `tree[path]`; a cut takes size / threads."""
    schedule, clock, running, trace = SCHEDULES[name](threads), 0.0, [], []
    busy = {}

    def start(orders):
        for order in orders:
            assert order.worker not in busy
            busy[order.worker] = order.threads
            assert sum(busy.values()) <= threads
            end = clock + order.subproblem.n / order.threads
            heapq.heappush(running, (end, order.subproblem.path, order))
            trace.append((order.subproblem.path, clock, end, order.threads, order.worker))

    start(schedule.begin(subproblem((), tree[()])))
    while running:
        clock, path, order = heapq.heappop(running)
        del busy[order.worker]
        children = [subproblem((*path, i), tree[(*path, i)]) for i in range(2)] if len(path) < depth else []
        start(schedule.finished(order, children))
    assert len(trace) == 2 ** (depth + 1) - 1  # nothing is forgotten, nothing is done twice
    assert len({path for path, *_ in trace}) == len(trace)
    return trace


def uneven(depth, share=0.75):
    tree = {(): 1024}
    for level in range(depth):
        for path in [path for path in tree if len(path) == level]:
            tree[(*path, 0)] = max(1, round(tree[path] * share))
            tree[(*path, 1)] = max(1, tree[path] - tree[(*path, 0)])
    return tree


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_every_piece_is_cut_once_after_its_parent_and_threads_are_never_exceeded(name, threads, depth):
    ends = {}
    for path, start, end, *_ in sorted(simulated(name, threads, uneven(depth), depth), key=lambda t: t[2]):
        ends[path] = end
        assert not path or start >= ends[path[:-1]]


def test_naive_gives_all_threads_to_one_piece_after_another():
    trace = simulated("naive", 3, uneven(3), 3)
    assert all(threads == 3 for *_, threads, _ in trace)
    assert all(late[1] >= early[2] for early, late in pairwise(trace))


def test_layer_has_a_barrier_between_levels_and_shares_threads_out():
    trace = simulated("layer", 5, uneven(3), 3)
    for depth in range(3):
        ends = [end for path, _, end, *_ in trace if len(path) == depth]
        starts = [start for path, start, *_ in trace if len(path) == depth + 1]
        assert min(starts) >= max(ends)
    assert sorted(threads for path, _, _, threads, _ in trace if len(path) == 1) == [2, 3]
    assert {threads for path, _, _, threads, _ in trace if len(path) == 3} == {1}


def test_queue_takes_the_largest_piece_first_with_a_share_of_what_is_free():
    tree = uneven(4)
    trace = simulated("queue", 1, tree, 4)
    sizes = {path: tree[path] for path in tree}
    known = [()]
    for path, *_ in trace:
        assert sizes[path] == max(sizes[other] for other in known)
        known.remove(path)
        known += [(*path, i) for i in range(2)] if len(path) < 4 else []
    wide = simulated("queue", 8, tree, 4)
    assert wide[0][3] == 8
    assert [threads for path, _, _, threads, _ in wide if len(path) == 1] == [4, 4]


def test_nb_layer_hands_threads_over_and_never_waits_for_a_level():
    trace = simulated("nb_layer", 4, uneven(3), 3)
    by_path = {path: (start, end, threads) for path, start, end, threads, _ in trace}
    assert by_path[(0,)][2] == by_path[(1,)][2] == 2
    # The small half is done first, goes on below although the large half is still at work …
    assert by_path[(1, 0)][0] < by_path[(0,)][1]
    # … and leaves its threads, so that somebody gets more than an even share.
    assert max(threads for path, _, _, threads, _ in trace if len(path) > 1) > 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_placement_is_that_of_the_default_for_any_threads(schedule, tmp_path, monkeypatch):
    monkeypatch.setattr("hopbytes.algorithms.multisection.scheduling.WHOLE_BELOW", 500)
    default = hb.map_tasks(grid(60), WHERE, "multisection:repetitions=2,recombinations=1")
    for threads in (1, 2, 5):
        file = tmp_path / f"{threads}.jsonl"
        method = f"multisection:repetitions=2,recombinations=1,schedule={schedule},trace={file}"
        found = hb.map_tasks(grid(60), WHERE, method, threads=threads)
        assert np.array_equal(found.pe, default.pe)
        work = dict(found.info["work"])
        assert work.pop("span") >= default.info["work"]["span"]  # calls in turn
        assert work == {name: amount for name, amount in default.info["work"].items() if name != "span"}
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert lines[0].keys() == {
            "start", "end", "worker", "threads", "path", "vertices", "cuts", "arcs"
        }
        assert sum(line["arcs"] for line in lines) == default.info["work"]["arcs"]
        assert sum(line["cuts"] for line in lines) == default.info["work"]["cuts"] == 1 + 4 + 12
        starts = {line["path"]: line["start"] for line in lines}
        for line in lines:
            assert line["end"] >= line["start"]
            parent = line["path"].rpartition("/")[0] or "/"
            if line["path"] != "/":
                assert line["start"] >= starts[parent]


def test_a_failing_cut_comes_out_as_its_error(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("inside a worker")

    monkeypatch.setattr("hopbytes.algorithms.mappers.multisection.partition_many", broken)
    with pytest.raises(ZeroDivisionError, match="inside a worker"):
        hb.map_tasks(grid(10), WHERE, "multisection:schedule=queue", partition=True)


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ("schedule=quue", UnsupportedError, "queue"),
        ("trace=x.jsonl", UnsupportedError, "a trace needs a schedule"),
        ("schedule=layer,trace=/nowhere/x", FormatError, "cannot be written"),
        pytest.param(
            "schedule=layer,trace=/dev/full", FormatError, "/dev/full",
            marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here"),
        ),
    ],
)
def test_faults(options, error, what):
    with pytest.raises(error, match=mentions(*what.split())):
        hb.map_tasks(grid(10), WHERE, f"multisection:{options}", partition=True)


def test_a_trace_takes_the_place_of_a_trace_only(tmp_path):
    file = tmp_path / "app.csv"
    file.write_text("0,1\n1,0\n")
    method = f"multisection:schedule=layer,trace={file}"
    with pytest.raises(FormatError, match="exists and is not a trace"):
        hb.map_tasks(grid(10), WHERE, method, partition=True)
    assert file.read_text() == "0,1\n1,0\n"
    file.unlink()
    for _ in range(2):
        hb.map_tasks(grid(10), WHERE, method, partition=True)
    assert len(file.read_text().splitlines()) == 1
