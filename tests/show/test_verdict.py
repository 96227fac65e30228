"""The first sentences about a mapping: compared with what the launcher would do, in units people know."""

import dataclasses

import numpy as np
import pytest

import hopbytes as hb
from helpers.placements import place
from hopbytes.cost.metrics.baselines import as_recorded, in_order
from hopbytes.show import verdict as judging
from hopbytes.show.verdict import slots_sentence, verdict
from hopbytes.util.quantities import amount


def ring(n, volume, **facts):
    meta = {"meta": facts} if facts else {}
    return hb.CommGraph.from_edges(range(n), [*range(1, n), 0], [volume] * n, **meta)


def said(graph, mapping, **options):
    return verdict(graph, mapping, hb.evaluate(graph, mapping, random_seeds=0, **options)).sentences


def test_gains_have_names():
    """A ring of eight on two nodes of four: two messages leave a node in order, eight alternating."""
    alternating = place("node:2@10 core:4@1", [0, 4, 1, 5, 2, 6, 3, 7], problem="processes")
    straight = place("node:2@10 core:4@1", range(8), problem="processes")
    graph = ring(8, 1000)
    worse = said(graph, alternating)
    assert worse[0].startswith("Between nodes: 8 kB, 100 % of all bytes; in order (nodes filled in order")
    assert "2 kB, 25 %: 300.0 % more" in worse[0]
    assert worse[1].startswith("Not worth a change: with this mapping the messages are predicted")
    assert "longer" in worse[1]
    assert said(graph, straight)[1].startswith("There is nothing to gain")
    order = np.argsort([0, 4, 1, 5, 2, 6, 3, 7])
    shuffled = hb.CommGraph.from_edges(order, order[[1, 2, 3, 4, 5, 6, 7, 0]], [1000] * 8)
    mapping = hb.map_tasks(shuffled, hb.allocate("node:2@10 core:4@1"))
    assert said(shuffled, mapping)[1].startswith("Use this mapping: the messages are predicted")


def judged(graph, mapping, **options):
    return verdict(graph, mapping, hb.evaluate(graph, mapping, random_seeds=0), **options)


def test_bounds_decide_nothing(monkeypatch):
    """They are equal for most mappings, and even different ones need not be times."""
    alternating = place("node:2@10 core:4@1", [0, 4, 1, 5, 2, 6, 3, 7], problem="processes")
    graph = ring(8, 10**6)
    usual = place("node:2@10 core:4@1", range(8), problem="processes")
    bounds = tuple(hb.simulate(graph, one, grade="bound") for one in (usual, alternating))
    found = judged(graph, alternating, predictions=bounds)
    assert (found.decision, found.keep) == ("not decided", None)
    assert found.to_dict()["keep"] is None
    assert found.sentence.startswith("Not decided: there are lower bounds of the time only, ")
    assert "J is" in found.sentence
    same = judged(graph, alternating, predictions=(bounds[0], bounds[0]))
    assert same.sentence.startswith("Not decided: the lower bounds of the time are equal")
    monkeypatch.setattr(judging, "MOST_ARCS", 7)
    assert judged(graph, alternating).sentence.startswith("Not decided: no time is predicted, since 8 me")
    monkeypatch.setattr(judging, "MOST_ARCS", 8)
    monkeypatch.setattr(judging, "MOST_FLOWS", 1)
    found = judged(graph, alternating)
    assert (found.decision, found.predicted.grade) == ("not decided", "bound")


def test_what_has_no_times_is_not_decided(tmp_path):
    (tmp_path / "d.txt").write_text("0 1 2 3\n1 0 1 2\n2 1 0 1\n3 2 1 0\n")
    graph = ring(4, 1000)
    swapped = place(f"table:{tmp_path / 'd.txt'}", [1, 0, 2, 3], problem="processes")
    found = judged(graph, swapped)
    assert (found.decision, found.predicted) == ("not decided", None)
    assert "distances only" in found.sentence
    unit = hb.CommGraph.from_edges(range(4), [1, 2, 3, 0], None)
    swapped = place("node:2@10 core:2@1", [1, 2, 0, 3], problem="processes")
    found = judged(unit, swapped)
    assert (found.decision, found.unit) == ("not decided", "")
    assert "no bytes" in found.sentence


def test_small_gains_and_the_same_placement_are_kept():
    graph = hb.CommGraph.from_edges([0, 2], [1, 5], [10**9, 10**4], n=8)
    swapped = place("node:2@10 core:4@1", [0, 1, 4, 3, 2, 5, 6, 7], problem="processes")
    found = judged(graph, swapped)
    assert (found.decision, found.remark) == ("keep", "")
    assert found.predicted.seconds <= found.usual.seconds
    same = place("node:2@10 core:4@1", range(8), problem="processes", said_by="hydra")
    assert "that hydra keeps" in judged(graph, same).sentence


@pytest.mark.parametrize(("before", "after", "decision", "words"), [
    (1.0, 0.949, "change", "messages are predicted to take 949 ms instead of 1 s (5.1 % less)"),
    (1.0, 0.951, "keep", "is predicted to save only 4.9 % of the messages' time, 951 ms instead of 1 s"),
    (1.0, 1.001, "keep", "Not worth a change: with this mapping the messages are predicted to take longer"),
    (1.0, 0.9996, "keep", "There is nothing to gain: the messages are predicted to take"),
    (1.0, 1.0004, "keep", "There is nothing to gain: the messages"), (0.0, 0.0, "keep", "nothing to gain"),
])  # fmt: skip
def test_what_is_worth_a_change(before, after, decision, words):
    graph = ring(8, 10**6)
    alternating = place("node:2@10 core:4@1", [0, 4, 1, 5, 2, 6, 3, 7], problem="processes")
    one = hb.simulate(graph, alternating)
    given = [dataclasses.replace(one, seconds=seconds) for seconds in (before, after)]
    found = judged(graph, alternating, predictions=tuple(given))
    assert (found.decision, found.keep) == (decision, decision == "keep")
    assert words in found.sentence
    if before:  # the protocol with the smaller gain decides: here that of posted receives gains nothing
        posted = [dataclasses.replace(one, posted_seconds=2.0) for one in given]
        said_of_both = judged(graph, alternating, predictions=tuple(posted)).sentence
        assert ("nothing to gain" in said_of_both) == (after < 1.0005)
    bounds = tuple(dataclasses.replace(one, grade="bound") for one in given)
    equal = "bounds of the time are equal" in judged(graph, alternating, predictions=bounds).sentence
    assert equal == (abs(before - after) <= 0.0005)


@pytest.mark.parametrize(("own", "base", "text"), [
    (50, 100, ": 50.0 % less"), (150, 100, ": 50.0 % more"), (0, 100, ": 100 % less"), (5, 0, ""),
    (100, 100, ""), (10006, 10000, ": 0.1 % more"), (10004, 10000, ""),
])  # fmt: skip
def test_changes(own, base, text):
    assert judging._change(own, base) == text
    if own in (50, 150):
        way = "lower" if own < base else "higher"
        assert judging._by_cost(own, base) == f"; J is 50 % {way} than in order."
    assert (judging._by_cost(base, base), judging._by_cost(5, 0)) == ("; J is the same as in order.",) * 2


def test_shares():
    shares = [judging._share(part, 1000) for part in (0, 1, 12, 99, 100, 101, 999, 1000)]
    assert shares == ["none", "0.1 %", "1.2 %", "9.9 %", "10 %", "10 %", "100 %", "100 %"]


def test_training_is_not_told_of_mpi():
    graph, where = hb.read("ml:tp=2,pp=2,dp=2,layers=2,order=dp-pp-cp-ep-tp"), hb.allocate("rails:4x2")
    found = judged(graph, hb.map_tasks(graph, where, "fast"))
    text = " ".join(found.sentences)
    assert found.decision == "change"
    assert "torchrun" in text
    assert "mpirun" not in text
    assert "bench-pattern" not in text


def test_the_launcher_decides_what_in_order_means():
    graph = ring(4, 1000)
    mapping = place("node:2@10 core:4@1", [0, 1, 2, 3], problem="processes")
    assert "mpirun" in said(graph, mapping)[0]
    assert "2 kB, 50 %: 100 % less" in said(graph, mapping, launcher="block")[0]
    assert "srun" in said(graph, mapping, launcher="block")[0]


def test_what_is_said_of_a_partition_into_fewer_tasks_than_slots():
    graph = hb.read("stencil:3x3:bytes=1000")
    mapping = hb.map_tasks(graph, hb.allocate("node:4@10 core:4@1"), partition=True)
    assert "in order (nodes filled in order, as mpirun does)" in said(graph, mapping)[0]
    assert slots_sentence(mapping).startswith("9 tasks on 16 slots: ")
    mapping = hb.map_tasks(graph, hb.allocate("node:2@10 core:2@1"), partition=True)
    assert "in order (blocks of consecutive tasks)" in said(graph, mapping)[0]


def test_counts_that_were_asked_for_are_those_of_the_baseline():
    mapping = place("node:2@10 core:4@1", [4, 5, 0, 1], problem="processes", slots="asked")
    assert in_order(ring(4, 1), mapping).tolist() == [0, 1, 4, 5]
    free = place("node:2@10 core:4@1", [4, 5, 0, 1], problem="processes", slots="free")
    assert in_order(ring(4, 1), free).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        (["a", "b", "a", "b"], [0, 4, 1, 5]),  # names of no node: in the order in which they come
        (["n2", "n1", "n2", "n2"], [4, 0, 5, 6]),
        (["a", "b", "c", "a"], None),  # more hosts than nodes
        (["a"] * 5, None),  # not one per task
        ("abcd", None),
        (None, None),
    ],
)
def test_the_placement_of_a_recording(hosts, expected):
    where = hb.allocate("node:2@10 core:4@1", hosts="n[1-2]")
    found = as_recorded(ring(4, 10, hosts=hosts), where)
    assert (None if found is None else found.tolist()) == expected


def test_too_many_ranks_for_a_node_are_no_placement():
    assert as_recorded(ring(6, 1, hosts=["a"] * 5 + ["b"]), hb.allocate("node:2 core:4")) is None


def test_a_recording_is_a_third_column():
    graph = ring(4, 1000, hosts=["a", "b", "a", "b"])
    mapping = place("node:2@10 core:2@1", range(4), problem="processes")
    evaluation = hb.evaluate(graph, mapping, random_seeds=0)
    assert "as recorded" in str(evaluation)
    assert evaluation.to_dict()["as_recorded"]["inter_node_volume"] == 4000
    assert verdict(graph, mapping, evaluation).traffic[1:] == (
        "As it was recorded: 4 kB between nodes: 50.0 % less.",
    )


def test_a_single_node_tells_of_its_packages_and_a_partition_of_volume():
    mapping = place("package:2@10 core:2@1", [0, 1, 2, 3], problem="processes")
    assert said(ring(4, 1000), mapping)[0].startswith("Between packages: 2 kB")
    partition = place("node:2@10 core:1@1", [0, 0, 1, 1], problem="partition")
    told = said(ring(4, 1000), partition)
    assert told[0].startswith("Between nodes: 2,000, 50 % of all volume; in order (blocks of consecutive")
    assert len(told) == 1
    read = place("node:2@10 core:1@1", [0, 0, 1, 1])  # as from a file, which says nothing of the problem
    assert said(ring(4, 1000), read) == told


def test_slots_and_what_the_others_would_cost():
    graph, where = hb.read("stencil:4x4:bytes=1000"), hb.allocate("node:4@10 core:6@1")
    mapping = hb.map_tasks(graph, where, "fast")
    told = slots_sentence(mapping)
    assert told.startswith("16 processes on 24 slots: ")
    for name, option in (("filled", "--pack"), ("spread", "--spread")):
        if mapping.info["slots"] != name:
            assert f"J {mapping.info['alternatives'][name]:,} ({option})" in told
    assert slots_sentence(hb.map_tasks(graph, hb.allocate(where, spread=True), "fast")) == ""


@pytest.mark.parametrize(
    ("volume", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"), (12345, "12.3 kB"), (120361892, "120 MB"),
     (999_600, "1 MB"), (2**63, "9.22 EB")],
)  # fmt: skip
def test_amounts(volume, text):
    assert amount(volume) == text
