"""Volumes of training jobs, computed by hand for published models and from the formulas of the papers."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import refused
from hopbytes.errors import UnsupportedError
from hopbytes.patterns.base import patterns, recorded_hosts
from hopbytes.patterns.ml import all_reduce, binary_tree, double_tree, is_training, rank_orders, training_of
from hopbytes.util.options import build


def per_task(spec, of="volumes"):
    """Return what each task sends, by kind; every task sends equally much except in pipelines."""
    training = build(patterns, spec)
    sums = {}
    for kind, parts in training.traffic().items():
        sent = np.zeros(training.tp * training.cp * training.dp * training.pp, np.int64)
        for arcs in parts:
            moving = arcs.sources != arcs.targets
            np.add.at(sent, arcs.sources[moving], getattr(arcs, of)[moving])
        if kind != "pipeline" and len(sent):
            assert np.ptp(sent) == 0, kind
        sums[kind] = int(sent.max(initial=0))
    return sums


def test_gpt_3_175b_of_megatron_lm():
    """Narayanan et al., SC 2021: model of table 2 (174.6 B, 384 GPUs, batch 1536), formulas of section 3.2.

    Every micro-batch and layer of a device: 8 b s h (t - 1) / t numbers of tensor parallelism; b s h / t
    numbers between stages (with the scatter/gather optimisation of section 4.1).
    """
    found = per_task("ml:tp=8,pp=12,dp=4,hidden=12288,layers=96,seq=2048,micro=384")
    numbers = 1 * 2048 * 12288  # b s h
    assert found["tensor"] == 8 * numbers * 7 // 8 * 2 * (96 // 12) * 384
    assert found["pipeline"] == 2 * numbers // 8 * 2 * 384  # forward and backward
    parameters = 12 * 96 * 12288**2  # without embeddings
    assert round(parameters / 1e9) == 174
    assert found["data"] == 2 * 3 * (parameters // (8 * 12) * 2) // 4
    assert found["expert"] == found["context"] == 0


def test_megatron_turing_nlg_530b():
    """Smith et al., arXiv 2201.11990: 105 layers, hidden 20480, tp 8, pp 35, batch 1920, dp 8."""
    found = per_task("ml:tp=8,pp=35,dp=8,hidden=20480,layers=105,seq=2048,micro=240,sp=yes")
    parameters = 12 * 105 * 20480**2
    assert round(parameters / 1e9) == 528
    assert found["data"] == 2 * 7 * (parameters // (8 * 35) * 2) // 8
    # Sequence parallelism: 6 all-gathers and 4 reduce-scatters in place of 4 all-reduces (8 such halves).
    assert found["tensor"] == 10 * 7 * (2048 * 20480 * 2) // 8 * 3 * 240


def test_llama_3_405b_with_long_sequences():
    """Grattafiori et al., arXiv 2407.21783, tables 3 and 4: tp 8, cp 16, pp 16, dp 8, 131072 tokens.

    126 layers do not divide by 16 stages: the first and the last stage have one less, so 128 are given here.
    """
    found = per_task(
        "ml:tp=8,cp=16,pp=16,dp=8,hidden=16384,layers=128,seq=131072,micro=16,kv=1024,ffn=53248,gated=yes,zero=1"
    )
    layer = 2 * 16384 * (16384 + 1024) + 3 * 16384 * 53248
    embeddings = 2 * 128256 * 16384
    assert round((126 * layer + embeddings) / 1e9) == 406
    part = layer * 8 * 2 // 8  # bytes of a stage of 8 layers, divided by tensor parallelism
    assert found["data"] == 2 * 127 * part // 128
    activations = 131072 // 16 * 16384 * 2
    assert found["context"] == 3 * 15 * 2 * (activations // 8 // 16) * 8 * 16
    assert found["tensor"] == 4 * 2 * 7 * activations // 8 * 8 * 16


@pytest.mark.parametrize(("zero", "times"), [(0, 2), (1, 2), (2, 1 + 5), (3, 3 * 5)])
def test_stages_of_zero(zero, times):
    """Rajbhandari et al., SC 2020, section 7: 2, 2 and 3 Psi for one micro-batch; here there are five."""
    common = "ml:tp=1,pp=1,dp=4,hidden=16,layers=2,seq=8,micro=5"
    psi = 12 * 16**2 * 2 * 2
    assert per_task(f"{common},zero={zero}")["data"] == times * psi * 3 // 4
    assert per_task(f"{common},zero={zero}", "messages")["data"] == times * 3


def test_hybrid_sharding_keeps_gathers_in_its_parts():
    graph = hb.read("ml:tp=1,pp=1,dp=8,hidden=16,layers=1,seq=8,micro=1,zero=3,shard=4")
    psi = 12 * 16**2 * 2
    matrix = graph.to_scipy().toarray()
    assert matrix[0, 1] == 3 * 3 * psi // 4  # two all-gathers and a reduce-scatter among tasks 0 to 3
    assert matrix[0, 4] == psi // 4  # an all-reduce of a quarter between two copies: 2 * (2 - 1) / 2
    assert set(np.flatnonzero(matrix[0]).tolist()) == {1, 4}


def test_context_by_all_to_all():
    """DeepSpeed-Ulysses (arXiv 2309.14509, section 3.2): queries, keys, values, output: M / P each."""
    found = per_task("ml:tp=1,pp=1,dp=1,cp=4,hidden=16,layers=1,seq=8,micro=1,context=alltoall,zero=1")
    tensor = 8 // 4 * 16 * 2
    assert found["context"] == 2 * 4 * tensor * 3 // 4


def test_experts_share_what_expert_parallelism_leaves():
    sizes = "tp=1,pp=1,dp=8,hidden=16,layers=1,seq=8,micro=1"
    found = per_task(f"ml:{sizes},ep=4,experts=8,ffn=32")
    common, expert = 4 * 16**2 * 2, 2 * 16 * 32 * 2
    assert found["data"] == 2 * 7 * common // 8 + 2 * 1 * (2 * expert) // 2


def test_capital_letters_are_understood():
    assert hb.read("ML:TP=2,PP=1,DP=2,Layers=2").name == hb.read("ml:tp=2,pp=1,dp=2,layers=2").name


@pytest.mark.parametrize(("spec", "words"), [
    ("zero=4", "a stage from 0 to 3"), ("shard=2", "zero=1"),
    ("zero=3,shard=3", "a divisor of dp·cp = 8"),
    ("zero=1,ep=4,shard=4", "a divisor of dp·cp/ep = 2"), ("ep=4,experts=6", "a multiple of ep=4"),
    ("context=tree", "ring or alltoall"), ("sp=maybe", "true or false"), ("inner=0", "inner=0"),
    ("ffn=-1", "ffn"), ("fsdp=1", "unknown"),
])  # fmt: skip
def test_refusals(spec, words):
    with refused(UnsupportedError, words):
        hb.read(f"ml:{spec}")


@pytest.mark.parametrize("algorithm", ["ring", "tree", "double_tree", "two_level"])
@pytest.mark.parametrize("size", [2, 5, 6, 8])
def test_an_all_reduce_reaches_everyone_in_both_directions(algorithm, size):
    """Bytes of seven calls of 840 each, and one message for each step of each call."""
    found = all_reduce(np.array([[7, *range(size - 1)]]), 840, 7, algorithm, 4)
    total, count = (sum(int(getattr(arcs, name).sum()) for arcs in found) for name in ("volumes", "messages"))
    part = max(divisor for divisor in range(1, 5) if size % divisor == 0)
    across = size // part
    expected = {
        "ring": (2 * (size - 1) * 840, 2 * (size - 1) * size), "tree": (2 * (size - 1) * 840, 2 * (size - 1)),
        "double_tree": (2 * (size - 1) * 840, 4 * (size - 1)),
        "two_level": (
            2 * (part - 1) * 840 * across + 2 * (across - 1) * 840,
            2 * size * (part - 1) + 2 * size * (across - 1),
        ),
    }[algorithm]
    assert (total, count) == (7 * expected[0], 7 * expected[1])
    reached = np.zeros((8, 8), int)
    for arcs in found:
        reached[arcs.sources, arcs.targets] = 1
    members = [7, *range(size - 1)]
    assert (np.linalg.matrix_power(reached + np.eye(8, dtype=int), 8)[np.ix_(members, members)] > 0).all()
    assert all_reduce(np.arange(3)[:, None], 840, 7, algorithm) == []


def test_ranks_in_every_order():
    """An order names the kind whose groups are consecutive first; equal ranks count once."""
    training = build(patterns, "ml:tp=2,cp=3,dp=2,pp=2,layers=4,seq=12,hidden=4")
    orders = rank_orders(training)
    assert len({rank.tobytes() for rank in orders.values()}) == len(orders) == 24
    assert list(orders)[:2] == ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"]
    sizes = {"tp": 2, "cp": 3, "dp": 2, "pp": 2}
    for name, ranks in orders.items():
        for task, rank in enumerate(ranks.tolist()):
            place = {"tp": task % 2, "cp": task // 2 % 3, "dp": task // 6 % 2, "pp": task // 12}
            step, expected = 1, 0
            for kind in name.replace("ep-", "").split("-"):
                expected, step = expected + step * place[kind], step * sizes[kind]
            assert rank == expected
    assert len(rank_orders(build(patterns, "ml:tp=2,dp=1,pp=1,layers=4"))) == 1


def test_what_is_a_training_job():
    assert training_of(hb.read("ml:tp=2,pp=1,dp=1")).tp == 2
    assert training_of(hb.read("stencil:2x2")) is None
    named = hb.CommGraph.from_edges([0], [1], meta={"name": "ml:tp=2,pp=1,dp=1"})
    assert training_of(named) is None
    for form, found in (("nccl", True), ("kineto", True), ("otf2", False), ("generated", True)):
        graph = hb.CommGraph.from_edges([0], [1], meta={"name": "ml:tp=2,pp=1,dp=1", "format": form})
        assert is_training(graph) == found


def pattern(meta):
    return hb.CommGraph.from_edges([0, 1], [1, 2], n=3, meta=meta)


@pytest.mark.parametrize("meta", [
    {"recorded": {"hosts": ["n1", "n1", "n2.cluster"]}}, {"hosts": ["n1", "n1", "n2.cluster"]},
    {"recorded": {"hosts": []}, "hosts": ("n1", "n1", "n2.cluster")},
])  # fmt: skip
def test_hosts_of_every_task(meta, tmp_path):
    graph = pattern(meta)
    assert recorded_hosts(graph) == ["n1", "n1", "n2.cluster"]
    hb.write(graph, tmp_path / "a.pattern")
    assert recorded_hosts(hb.read(tmp_path / "a.pattern")) == ["n1", "n1", "n2.cluster"]


@pytest.mark.parametrize("hosts", [
    None, [], ["n1", "n2"], ["n1", "n2", ""], ["n1", "n2", 3], "abc", {"0": "n1"}, 7,
    ["n1", "n2", "n3; rm -r x"], ["n1", "n2", "n3\x1b[2J"],
])  # fmt: skip
def test_anything_else_is_none(hosts):
    assert recorded_hosts(pattern({"recorded": {"hosts": hosts}})) is None
    assert recorded_hosts(pattern({"recorded": hosts})) is None
    assert recorded_hosts(pattern({"hosts": hosts})) is None


def depth(parent, member):
    steps = 0
    while parent[member] >= 0:
        member, steps = int(parent[member]), steps + 1
        assert steps <= len(parent)
    return steps


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 13, 16, 33, 64])
def test_two_trees_reach_everyone_and_share_no_more_than_one_inner_member(size):
    first, second = double_tree(size)
    assert np.array_equal(first, binary_tree(size))
    for parent in (first, second):
        assert np.count_nonzero(parent < 0) == 1
        assert max(depth(parent, member) for member in range(size)) <= size.bit_length()
        assert np.bincount(parent[parent >= 0], minlength=1).max(initial=0) <= 2
    both = set(first[first >= 0].tolist()) & set(second[second >= 0].tolist())
    assert len(both) <= 1 or size == 2


def test_two_levels_keep_most_bytes_inside():
    found = all_reduce(np.arange(16)[None, :], 1600, 1, "two_level", inner=8)
    inside = sum(int(arcs.volumes[arcs.sources // 8 == arcs.targets // 8].sum()) for arcs in found)
    outside = sum(int(arcs.volumes[arcs.sources // 8 != arcs.targets // 8].sum()) for arcs in found)
    assert inside == 16 * 2 * 7 * 1600 // 8
    assert outside == 16 * 2 * 1 * 200 // 2
    for arcs in found:
        far = arcs.sources // 8 != arcs.targets // 8
        assert np.all(arcs.sources[far] % 8 == arcs.targets[far] % 8)


def test_parts_are_the_nearest_divisor():
    found = all_reduce(np.arange(6)[None, :], 60, 1, "two_level", inner=4)
    pairs = {(int(a), int(b)) for arcs in found for a, b in zip(arcs.sources, arcs.targets, strict=True)}
    assert (2, 0) in pairs  # rings of three
    assert (0, 3) in pairs
