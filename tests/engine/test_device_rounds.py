"""Kernels of core/device: equal to their definitions, free of order, and the text that a GPU compiles."""

import os
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.engine_cases import random_csr
from helpers.stand_in_cupy import StandIn
from hopbytes.algorithms.mappers.device_rounds import DeviceRounds
from hopbytes.engine import device as devices
from hopbytes.engine.device import chosen, cpu, cuda, enough_memory
from hopbytes.engine.device_rounds import (
    NEXT_SEED,
    DeviceDistances,
    DeviceGraph,
    Moves,
    Rounds,
    cluster,
    contract,
    cost_of,
    map_in_rounds,
    symmetric_graph,
)
from hopbytes.errors import MissingPackageError, UnsupportedError
from hopbytes.kernels.base import compiled
from reference import device_reference as reference
from reference.parallel_reference import contract as contracted
from reference.parallel_reference import plain_rows

ON_GPU = pytest.mark.skipif(bool(chosen("auto")[1]), reason=chosen("auto")[1] or "there is a GPU")
DEVICES = [pytest.param("cpu", id="cpu"), pytest.param("cuda", id="cuda", marks=[pytest.mark.gpu, ON_GPU])]


def shuffled(seed=1):
    """The CPU with the items of every kernel in random order, on three threads."""
    return cpu(3, np.random.default_rng(seed).permutation)


def device_of(name):
    return cuda() if name == "cuda" else shuffled()


def level(device, n, seed, loads=True):
    """A random graph of few hundred vertices, on a device, and as arrays."""
    rng = np.random.default_rng(seed)
    csr = random_csr(rng, n)
    load = rng.integers(0, 5, n) if loads else np.ones(n, np.int64)
    put = device.xp.asarray
    return DeviceGraph(put(csr.indptr), put(csr.targets), put(csr.weights), put(load)), csr, load


def distances_of(device, k, seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 3 if seed % 2 else 100, (k, k))  # with few distances many moves gain as much
    table = np.triu(table, 1) + np.triu(table, 1).T
    return DeviceDistances(None, device.xp.asarray(table.reshape(-1)), k), table.tolist()


@pytest.mark.parametrize("name", DEVICES)
@given(n=st.integers(2, 150), seed=st.integers(0, 99), most=st.integers(1, 40))
def test_clusters_equal_their_definition(name, n, seed, most):
    device = device_of(name)
    graph, csr, load = level(device, n, seed)
    found, count = cluster(device, graph, most, n // 3, seed, 8)
    leader = reference.cluster(
        plain_rows(*csr), load.tolist(), most, n // 3, (seed + 1) * NEXT_SEED % 2**63, 8
    )
    number = {leader: place for place, leader in enumerate(sorted({*leader}))}
    if len(number) * 4 <= n * 3:  # otherwise pairs follow
        assert device.to_host(found).tolist() == [number[each] for each in leader]
    assert count == len(np.unique(device.to_host(found)))
    held = np.bincount(device.to_host(found), load, count)
    assert held.max() <= max(most, load.max())


def test_large_weights_and_loads_are_rated_alike():
    """They are shifted to 31 bits, which changes no ratio of weights that are multiples of a large power."""
    graph, csr, load = level(cpu(), 150, 7, loads=False)
    large = DeviceGraph(csr.indptr, csr.targets, csr.weights << 40, load << 40)
    expected, count = cluster(cpu(), graph, 20, 50, 7, 4)
    found, same = cluster(cpu(), large, 20 << 40, 50, 7, 4)
    assert same == count
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", DEVICES)
def test_vertices_of_a_star_are_clustered_in_pairs(name):
    device, n = device_of(name), 101
    star = hb.CommGraph.from_edges(np.zeros(n - 1, int), np.arange(1, n), undirected=True)
    put = device.xp.asarray
    graph = DeviceGraph(put(star.indptr), put(star.targets), None, device.xp.ones(n, np.int64))
    found, count = cluster(device, graph, 2, 34, 0, 8)
    assert count == len(np.unique(device.to_host(found))) <= 52
    community = device.xp.arange(n, dtype=np.int32) % 3
    found, count = cluster(device, graph, 2, 34, 0, 8, community)
    assert len({(c, v % 3) for v, c in enumerate(device.to_host(found).tolist())}) == count < 60


@pytest.mark.parametrize("name", DEVICES)
@given(n=st.integers(1, 150), seed=st.integers(0, 99))
def test_contractions_equal_their_definition(name, n, seed):
    device = device_of(name)
    graph, csr, load = level(device, n, seed)
    clusters = np.random.default_rng(seed).integers(0, max(1, n // 3), n)
    _, clusters = np.unique(clusters, return_inverse=True)
    clusters, count = clusters.astype(np.int32), int(clusters.max()) + 1
    coarse = contract(device, graph, device.xp.asarray(clusters), count)
    again = contract(cpu(), *level(cpu(), n, seed)[:1], clusters, count)
    start, adj, weight = (device.to_host(array) for array in coarse.rows)
    rows, loads = contracted(csr, load, clusters, count)
    assert [dict(row) for row in plain_rows(start, adj, weight)] == rows
    assert device.to_host(coarse.load).tolist() == loads
    assert np.array_equal(adj, again.adj)  # in the same order


@pytest.mark.parametrize("name", DEVICES)
@given(n=st.integers(2, 120), seed=st.integers(0, 99), k=st.integers(2, 40), slack=st.integers(0, 9))
def test_moves_equal_their_definition(name, n, seed, k, slack):
    device = device_of(name)
    graph, csr, load = level(device, n, seed)
    distances, table = distances_of(device, k, seed)
    block = np.random.default_rng(seed + 1).integers(0, k, n).astype(np.int32)
    held = np.bincount(block, load, k).astype(np.int64)
    caps = held + np.random.default_rng(seed + 2).integers(0, slack + 1, k)
    mine, loads = device.xp.asarray(block.copy()), device.xp.asarray(held)
    Moves(device, graph, distances, device.xp.asarray(caps), mine, loads).refine(5)
    expected = reference.refine(plain_rows(*csr), load.tolist(), table, caps.tolist(), block.tolist(), 5)
    assert device.to_host(mine).tolist() == expected
    assert device.to_host(loads).tolist() == np.bincount(expected, load, k).tolist()
    arcs = [(v, u, w) for v, row in enumerate(plain_rows(*csr)) for u, w in row]
    cost = sum(w * table[expected[v]][expected[u]] for v, u, w in arcs)
    assert cost_of(device, graph, distances, mine) == cost


@pytest.mark.parametrize("name", DEVICES)
@given(n=st.integers(1, 120), seed=st.integers(0, 99), k=st.integers(1, 9), digits=st.integers(1, 3))
def test_moves_are_admitted_in_the_order_of_their_gains(name, n, seed, k, digits):
    device, rng = device_of(name), np.random.default_rng(seed)
    graph, _, load = level(device, n, seed)
    distances, _ = distances_of(device, k, seed)
    block, target = rng.integers(0, k, n), rng.integers(-1, k, n)
    gain = rng.integers(-9, 9, n) * 10 ** rng.integers(0, 17, n)
    held, most = rng.integers(0, 60, k), rng.integers(0, 60, k)
    put = device.xp.asarray
    moves = Moves(device, graph, distances, put(most), put(block.astype(np.int32)), put(held))
    for leaving, group in ((0, target), (1, block)):
        if leaving:
            target[held[block] <= most[block]] = -1
        moves._target[:], moves._gain[:] = put(target.astype(np.int32)), put(gain)
        for step in moves._admission(put(group.astype(np.int32)), None, digits, leaving):
            step()
        expected = reference.admitted(
            block.tolist(), target.tolist(), gain.tolist(), load.tolist(), held.tolist(), most.tolist(),
            6 * digits, leaving=bool(leaving),
        )
        assert np.flatnonzero(device.to_host(moves._target) >= 0).tolist() == expected


@given(n=st.integers(30, 120), seed=st.integers(0, 99), k=st.integers(2, 9))
def test_overloaded_pes_are_drained(n, seed, k):
    graph, _, load = level(shuffled(seed), n, seed, loads=False)
    distances, _ = distances_of(shuffled(), k, seed)
    block, held = np.zeros(n, np.int32), np.array([n] + [0] * (k - 1))
    moves = Moves(shuffled(seed), graph, distances, np.full(k, -(-n // k)), block, held)
    before = cost_of(cpu(), graph, distances, block)
    change, over = moves.drain(anywhere=True)
    assert (cost_of(cpu(), graph, distances, block) - before, over) == (2 * change, 0)
    assert np.array_equal(held, np.bincount(block, load, k))
    assert held.max() <= -(-n // k)


@given(n=st.integers(30, 120), seed=st.integers(0, 99), k=st.integers(2, 9))
def test_the_best_stage_is_kept(n, seed, k):
    graph, _, load = level(cpu(), n, seed, loads=False)
    distances, _ = distances_of(cpu(), k, seed)
    first = np.random.default_rng(seed).integers(0, k, n).astype(np.int32)
    most = np.full(k, -(-n // k))

    def started():
        block = first.copy()
        held = np.bincount(block, load, k).astype(np.int64)
        return block, Moves(cpu(), graph, distances, most, block, held)

    block, moves = started()
    stages, found = (300, 0), []
    moves.drain(anywhere=True)
    for overload in stages:
        moves._most[:] = most + most * overload // 1000
        moves.refine(4)
        moves._most[:] = most
        _, over = moves.drain(anywhere=True)
        assert (moves._other == -1).all()
        found.append((over, cost_of(cpu(), graph, distances, block), block.tolist()))
    block, moves = started()
    moves.run(4, stages, last=True)
    assert block.tolist() == min(found, key=lambda each: each[:2])[2]


def test_v_cycles_end_at_graphs_of_their_own():
    graph, _, _ = level(cpu(), 3000, 3)
    distances, _ = distances_of(cpu(), 6, 3)
    seen = []

    def coarse(found, current):
        seen.append((found.n, current is None))
        return (np.arange(found.n) % 6).astype(np.int32) if current is None else current

    most = np.full(6, int(graph.load.sum()) // 5)
    map_in_rounds(cpu(), graph, distances, most, Rounds(200, cycle_to=900), 3, coarse, lambda: False)
    (first, alone), (again, kept) = seen
    assert (alone, kept) == (True, False)
    assert first < 300 < again < 1500


def test_the_coarsest_graph_is_mapped_several_times():
    graph, where = hb.read_pattern("stencil:60x60"), "node:3@10 core:2@1"
    work = {}
    for starts, threads in ((1, 1), (3, 1), (3, 2)):
        mapper = DeviceRounds(fewest=400, per_pe=1, cycle_to=400, starts=starts)
        found = hb.map_tasks(graph, where, mapper, partition=True, threads=threads, seed=1)
        work[starts, threads] = found.info["work"]["arcs"], found.pe.tolist()
    assert work[3, 1] == work[3, 2]
    assert work[3, 1][0] > 2 * work[1, 1][0]


def test_a_graph_with_a_hub_is_mapped_once():
    star = hb.CommGraph.from_edges(np.zeros(999, int), np.arange(1, 1000), undirected=True)
    found = [
        hb.map_tasks(star, "node:3@10 core:2@1", mapper, partition=True, threads=1, seed=1)
        for mapper in (DeviceRounds(fewest=400, per_pe=1, starts=3), "deep_multisection")
    ]
    assert found[0].info["work"] == found[1].info["work"]
    assert found[0].pe.tolist() == found[1].pe.tolist()


def whole_mapping(device, seed=3):
    graph, _, _ = level(device, 3000, seed)
    distances, _ = distances_of(device, 6, seed)
    total = int(graph.load.sum())

    def coarse(found, current):
        if current is not None:
            return device.to_host(current)
        return (np.arange(found.n) % 6).astype(np.int32)

    most = device.xp.full(6, total // 5)
    pe = map_in_rounds(device, graph, distances, most, Rounds(200), seed, coarse, lambda: False)
    return device.to_host(pe)


def test_the_order_of_items_and_threads_change_nothing():
    expected = whole_mapping(cpu())
    for seed in range(5):
        assert np.array_equal(whole_mapping(shuffled(seed)), expected)
    assert np.array_equal(whole_mapping(cpu(4)), expected)


@pytest.mark.gpu
@ON_GPU
def test_a_gpu_gives_the_same_bytes():
    assert np.array_equal(whole_mapping(cuda()), whole_mapping(cpu()))


def lack_of_memory(*_):
    raise RuntimeError("out of memory")


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_the_text_for_a_gpu_gives_the_same_bytes(tmp_path, monkeypatch):
    """Compiled by g++ with one thread after the other, and launched as CuPy launches it."""
    monkeypatch.setitem(sys.modules, "cupy", StandIn(tmp_path))
    monkeypatch.setitem(sys.modules, "cupyx", types.SimpleNamespace(empty_pinned=np.empty))
    there = cuda(3)
    assert there.name == "cuda"
    sent = np.arange(devices.LARGE // 8 + 1)
    assert np.array_equal(there.of_host(sent), sent)
    monkeypatch.setattr(sys.modules["cupyx"], "empty_pinned", lack_of_memory)
    assert np.array_equal(there.of_host(sent), sent)
    assert np.array_equal(whole_mapping(cuda()), whole_mapping(cpu()))


@pytest.mark.skipif(not shutil.which("nvcc"), reason="there is no nvcc")
def test_every_kernel_compiles_for_a_gpu(tmp_path):
    source, ptx = tmp_path / "kernels.cu", tmp_path / "kernels.ptx"
    source.write_text(compiled.device_source())
    words = ["nvcc", "-ptx", "-std=c++17", "-fmad=false", "-arch=sm_80", "-o", str(ptx), str(source)]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(words, check=True, env=environment)  # a sanitizer would end NVIDIA's compiler
    named = set(re.findall(r"^KERNEL\((\w+)", compiled.device_source(), re.MULTILINE))
    assert named == set(re.findall(r"\.entry (\w+)", ptx.read_text()))
    assert len(named) == 23


@given(n=st.integers(1, 60), seed=st.integers(0, 99))
def test_directed_arcs_become_the_sum_of_both_directions(n, seed):
    rng, device = np.random.default_rng(seed), shuffled(seed)
    arcs = hb.CommGraph.from_edges(*rng.integers(0, n, (2, 3 * n)), rng.integers(0, 9, 3 * n), n=n)
    load = np.ones(n, np.int64)
    graph = symmetric_graph(device, arcs.indptr, arcs.targets, arcs.arc_volumes(), load)
    sums: dict[tuple[int, int], int] = {}
    for v, row in enumerate(plain_rows(arcs.indptr, arcs.targets, arcs.arc_volumes())):
        for u, w in row:
            if u != v and w:
                sums[v, u], sums[u, v] = sums.get((v, u), 0) + w, sums.get((u, v), 0) + w
    rows = plain_rows(*graph.rows)
    found = {(v, u): w for v, row in enumerate(rows) for u, w in row}
    # Where both directions are equal, the arcs themselves are the graph: half of the sums.
    assert found in (sums, {pair: w // 2 for pair, w in sums.items()})
    assert sum(map(len, rows)) == len(found)


def test_wrong_arguments_of_a_kernel_are_errors():
    run = cpu().run
    for name, arguments in [
        ("no_such", ()), ("sum_loads", (1,)),
        ("sum_loads", (np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1), np.zeros(1))),
    ]:
        with pytest.raises(ValueError, match="kernel"):
            run(name, 1, *arguments)


def test_what_is_missing_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingPackageError, match=r"device cuda .* pip install 'cupy-cuda13x"):
        chosen("cuda")
    device, why = chosen("auto")
    assert device.name == "cpu"
    assert "cupy" in why
    monkeypatch.setitem(sys.modules, "cupy", StandIn(tmp_path, gpus=0))
    with pytest.raises(UnsupportedError, match="no GPU was found"):
        chosen("cuda")
    stand_in = StandIn(tmp_path)
    stand_in.cuda.runtime.getDeviceCount = lambda: 1 // 0
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    with pytest.raises(UnsupportedError, match="by zero, expected a GPU, its driver and NVRTC"):
        chosen("cuda")
    with pytest.raises(UnsupportedError, match="device 'gpu', expected one of cpu, cuda, auto"):
        chosen("gpu")
    with (
        pytest.raises(UnsupportedError, match="out of memory, expected more memory on the GPU"),
        enough_memory(devices.Device("cuda", np, 1, print, print)),
    ):
        raise MemoryError("out of\nmemory")
