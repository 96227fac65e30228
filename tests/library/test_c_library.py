"""The C library: the blocks of Python, bounds and sums by their definitions, bad input, compiled examples."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.c_library import LIB, blocks_of, library
from helpers.graphs import grid
from helpers.paths import EXAMPLES
from hopbytes.algorithms.base import Bounds
from hopbytes.algorithms.mappers.deep_multisection import DeepMultisection
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import deep_multisection
from hopbytes.kernels.linear_cost import held
from hopbytes.model.comm_graph import CommGraph

OK, OVERLOADED, NULL, SIZE, INDEX, WEIGHT, ASYMMETRIC, LARGE, MACHINE, OPTION, FIXED = (
    0, 1, -1, -2, -3, -4, -5, -6, -7, -8, -9,
)  # fmt: skip


def lattice(side, seed=None, heavy=0):
    """A lattice, with random weights and loads if there is a seed."""
    edges, rng = grid(side), np.random.default_rng(seed)
    weights = None if seed is None else rng.integers(1, 50, edges.m)
    loads = None if seed is None else rng.integers(1, 9, edges.n)
    if heavy:
        loads[3] = heavy
    return CommGraph.from_edges(edges.sources(), edges.targets, weights, loads=loads, undirected=True)


def parts(graph):
    csr = graph.symmetric_positive()
    return csr.indptr, csr.targets, csr.weights, graph.loads


@pytest.mark.parametrize(
    ("graph", "machine", "imbalance", "seed"),
    [
        (lattice(40), "core:8@1", 0.03, 0),
        (lattice(40), "node:2@10 core:4@1", 0.03, 7),
        (lattice(30, 1), "rack:2 node:2 core:[4,2,3,5]", 0.05, 2**40 + 1),
        (lattice(30, 2, heavy=4000), "node:3@7 core:3@7", 0.1, 3),
        (lattice(25, 5), "node:2 core:4:cap=[1,3,2,2,1,1,7,3]", 0.03, 1),
    ],
)
@pytest.mark.parametrize(("bits", "base", "threads"), [(32, 0, 1), (64, 1, 3)])
def test_blocks_are_those_of_python(graph, machine, imbalance, seed, bits, base, threads):
    found = hb.map_tasks(
        graph, machine, "deep_multisection", imbalance=imbalance, seed=seed, partition=True, threads=1
    )
    rows, targets, weights, loads = parts(graph)
    shares = re.search(r":cap=\[(.*)\]", machine)
    status, part, result = blocks_of(
        rows + base, targets + base, weights, loads, bits=bits, base=base,
        machine=machine.partition(":cap")[0],
        capacity=None if shares is None else [int(each) for each in shares[1].split(",")],
        imbalance=imbalance, seed=seed, threads=threads,
    )  # fmt: skip
    assert status == OK
    assert (part - base).tolist() == found.pe.tolist()
    assert 2 * result.cost == found.info["comm_cost"]  # J counts both directions


def test_overloads_that_the_search_leaves_are_repaired():
    rows, targets, _, _ = parts(lattice(12))
    moved = 0
    for seed in range(20):
        loads = np.random.default_rng(seed).integers(1, 30, 144)
        status, part, result = blocks_of(rows, targets, None, loads, k=24)
        total = int(loads.sum())
        assert status == OK
        assert np.bincount(part, loads).max() <= max(total * 103 // 2400, -(-total // 24))
        moved += result.moved
    assert moved > 0


def test_sums_are_those_of_their_definitions():
    graph = lattice(20, 4)
    rows, targets, weights, loads = parts(graph)
    status, part, result = blocks_of(rows, targets, weights, loads, machine="node:3@9 core:2@2")
    sources = np.repeat(np.arange(400), np.diff(rows))
    a, b = part[sources], part[targets]
    apart = np.where(a == b, 0, np.where(a // 2 == b // 2, 2, 9))
    assert (status, result.cost) == (OK, (weights * apart).sum() // 2)
    assert result.cut == weights[a != b].sum() // 2
    sums = np.bincount(part, loads, 6)
    assert result.imbalance == pytest.approx(sums.max() * 6 / loads.sum() - 1)


@given(
    n=st.integers(0, 60), edges=st.integers(0, 120), k=st.integers(1, 20), seed=st.integers(0, 10**6),
    most=st.sampled_from([1, 2, 9, 1000]), imbalance=st.sampled_from([0, 0.03, 0.5, 7]),
)  # fmt: skip
def test_bounds_are_kept_and_no_block_is_empty(n, edges, k, seed, most, imbalance):
    rng = np.random.default_rng(seed)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, max(n, 1), (edges if n else 0, 2)).tolist()}
    arcs = sorted(arc for a, b in pairs if a != b for arc in ((a, b), (b, a)))
    rows = np.searchsorted([a for a, _ in arcs], np.arange(n + 1))
    loads = rng.integers(most > 2, most + 1, n)
    status, part, _ = blocks_of(rows, [b for _, b in arcs], None, loads, k=k, seed=seed, imbalance=imbalance)
    assert status in (OK, OVERLOADED)
    assert n == 0 or (part.min() >= 0 and part.max() < k)
    if n >= k:
        assert len(np.unique(part)) == k
    if n <= k:
        assert len(np.unique(part)) == n
    elif most == 1:  # single tasks can always be moved
        count = np.bincount(part, loads if loads.any() else None, k)
        total = loads.sum() or n
        assert count.max() <= max(total * (1 + imbalance) // k, -(-total // k))


PATH = [0, 1, 3, 4], [1, 0, 2, 1]


@pytest.mark.parametrize(
    ("wanted", "arguments"),
    [
        (NULL, {"rows": None, "n": 3}), (NULL, {"targets": None}), (SIZE, {"n": -1}),
        (SIZE, {"n": 2**31 - 1}), (SIZE, {"rows": [1, 1, 3, 4]}), (SIZE, {"rows": [0, 3, 1, 4]}),
        (INDEX, {"targets": [1, 0, 3, 1]}), (INDEX, {"targets": [1, -1, 2, 1]}),
        (WEIGHT, {"weights": [1, 1, -1, 1]}), (WEIGHT, {"loads": [1, -1, 1]}),
        (ASYMMETRIC, {"targets": [1, 0, 2, 0]}), (ASYMMETRIC, {"weights": [1, 2, 1, 1]}),
        (LARGE, {"weights": [2**60, 2**60, 1, 1], "bits": 64}), (LARGE, {"loads": [2**62, 1, 1], "bits": 64}),
        (LARGE, {"machine": f"a:2@{2**58}", "k": 0}), (LARGE, {"weights": [2**63 - 1] * 4, "bits": 64}),
        (MACHINE, {"k": 0}), (MACHINE, {"k": -1}), (MACHINE, {"k": 2**40}),
        (MACHINE, {"k": 5, "machine": "core:4"}),
        *((MACHINE, {"machine": text, "k": 0}) for text in (
            "", "core", "core:", "core:0", "core:-1", "core:4@", "4:2", "node:2@1 core:2@5", "core:4@x",
            "core:4 ,", "node:2 core:[1,2,3]", "core:[1,2", "core:99999999999999999999",
            "node:5000 core:5000", "node:2 core:[1]",
            "core:4@-1", "a:2 " * 17, "core:4:cap=2", "é:2",
        )),
        (OPTION, {"imbalance": -0.1}), (OPTION, {"imbalance": float("nan")}), (OPTION, {"imbalance": 8.0}),
        (OPTION, {"threads": 0}), (OPTION, {"threads": 2**20}), (OPTION, {"time_limit": -1.0}),
        (OPTION, {"time_limit": float("nan")}), (OPTION, {"base": 2}), (OPTION, {"index_bits": 16}),
        (OPTION, {"capacity": [1, 0]}), (OPTION, {"capacity": [1, 2**31]}),
        (FIXED, {"fixed": [-1, 2, -1]}), (FIXED, {"fixed": [2**31 - 1, 0, 0]}),
        (FIXED, {"fixed": [1, 3, 2], "base": 1, "rows": [1, 2, 4, 5], "targets": [2, 1, 3, 2]}),
        (OPTION, {"effort": 2}), (OPTION, {"effort": -2}),
    ],
)  # fmt: skip
def test_bad_input_has_a_code_and_nothing_is_written(wanted, arguments):
    given = {"rows": PATH[0], "targets": PATH[1], "k": 2} | arguments
    if given.get("n") == 2**31 - 1:
        given["rows"], given["n"] = None, 3  # no array is that long
        wanted = NULL
    status, part, _ = blocks_of(**given)
    assert status == wanted
    assert set(part.tolist()) <= {-7}
    assert len(library.hopbytes_message(status)) > 10


def cost_of(graph, part, apart):
    rows, targets, weights, _ = parts(graph)
    sources = np.repeat(np.arange(graph.n), np.diff(rows))
    return int((weights * apart[part[sources], part[targets]]).sum()) // 2


def test_every_way_to_fix_the_vertices_of_a_small_graph():
    graph = CommGraph.from_edges([0, 0, 1, 2, 3, 3], [1, 3, 2, 4, 4, 1], [9, 1, 4, 2, 7, 3], undirected=True)
    rows, targets, weights, _ = parts(graph)
    for machine, k in (("core:2@1", 2), ("node:2@10 core:2@1", 4), ("node:2@10 core:[4,3]@1", 7)):
        pes = np.arange(k)
        apart = np.where(pes[:, None] == pes, 0, np.where(pes[:, None] // k**0.5 == pes // k**0.5, 1, 10))
        if k == 7:
            apart = np.where(pes[:, None] == pes, 0, np.where((pes[:, None] < 4) == (pes < 4), 1, 10))
        most = -(-5 // k)
        every = [np.array(part) for part in product(range(min(k, 5)), repeat=5)]
        valid = [(part, cost_of(graph, part, apart)) for part in every if np.bincount(part).max() <= most]
        found = least = 0
        for fixed in map(np.array, product(range(-1, min(k, 4)), repeat=5)):
            held = fixed >= 0
            status, part, result = blocks_of(rows, targets, weights, machine=machine, fixed=fixed)
            assert part[held].tolist() == fixed[held].tolist()
            fits = np.bincount(fixed[held], minlength=1).max() <= most
            assert status == (OK if fits else OVERLOADED), fixed
            assert result.cost == cost_of(graph, part, apart)
            if fits:
                assert np.bincount(part).max() <= most
                found += result.cost
                least += min(cost for part, cost in valid if np.all(part[held] == fixed[held]))
        assert least <= found <= 1.3 * least, (machine, found, least)


@pytest.mark.parametrize("effort", [-1, 0, 1])
@pytest.mark.parametrize("machine", ["core:24@1", "node:3@10 core:8@1"])
def test_fixed_vertices_stay_and_the_others_keep_the_bounds(machine, effort):
    graph, rng = lattice(50, 6), np.random.default_rng(3)
    rows, targets, weights, loads = parts(graph)
    fixed = np.where(rng.random(graph.n) < 0.1, rng.integers(0, 24, graph.n), -1)
    most = int(loads.sum()) * 103 // 2400
    costs = []
    for threads in (1, 3):
        status, part, result = blocks_of(
            rows + 1, targets + 1, weights, loads, base=1, machine=machine, effort=effort, threads=threads,
            fixed=np.where(fixed < 0, fixed + 1 - rng.integers(0, 9), fixed + 1),
        )  # fmt: skip
        assert status == OK
        assert np.array_equal((part - 1)[fixed >= 0], fixed[fixed >= 0])
        assert np.bincount(part - 1, loads, 24).max() <= most
        costs.append(result.cost)
    assert costs[0] == costs[1]
    # Fixed to what is found without, they cost about as much as it.
    _, free, without = blocks_of(rows, targets, weights, loads, machine=machine, effort=effort)
    status, _, result = blocks_of(
        rows, targets, weights, loads, machine=machine, effort=effort, fixed=np.where(fixed < 0, -1, free)
    )
    assert status == OK
    assert result.cost <= 1.15 * without.cost < costs[0]


@given(
    n=st.integers(1, 60), edges=st.integers(0, 120), k=st.integers(1, 20), seed=st.integers(0, 10**6),
    most=st.sampled_from([1, 9, 30, 1000]), share=st.sampled_from([0.05, 0.3, 1.0]),
)  # fmt: skip
def test_any_fixed_vertices_stay(n, edges, k, seed, most, share):
    rng = np.random.default_rng(seed)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, n, (edges, 2)).tolist()}
    arcs = sorted(arc for a, b in pairs if a != b for arc in ((a, b), (b, a)))
    rows = np.searchsorted([a for a, _ in arcs], np.arange(n + 1))
    loads = rng.integers(1, most + 1, n)
    fixed = np.where(rng.random(n) < share, rng.integers(0, k, n), -1)
    status, part, _ = blocks_of(rows, [b for _, b in arcs], None, loads, k=k, seed=seed, fixed=fixed)
    assert status in (OK, OVERLOADED)
    assert np.array_equal(part[fixed >= 0], fixed[fixed >= 0])
    assert 0 <= part.min() <= part.max() < k
    if n > k and most == 1:  # single tasks can always be moved, those that are fixed excepted
        bound = max(n * 103 // (100 * k), -(-n // k))
        held = np.bincount(fixed[fixed >= 0], minlength=k)
        assert np.all(np.bincount(part, minlength=k) <= np.maximum(held, bound))
        assert (status == OK) == (held.max() <= bound)


def test_overloads_are_repaired_around_fixed_vertices():
    rows, targets, _, _ = parts(lattice(12))
    kept = 0
    for seed in range(40):
        loads, rng = np.random.default_rng(seed).integers(1, 30, 144), np.random.default_rng(seed + 99)
        _, free, _ = blocks_of(rows, targets, None, loads, k=24)
        fixed = np.where(rng.random(144) < 0.5, free, -1)  # so that there are blocks that keep the bounds
        status, part, _ = blocks_of(rows, targets, None, loads, k=24, fixed=fixed)
        assert np.array_equal(part[fixed >= 0], fixed[fixed >= 0])
        total = int(loads.sum())
        largest = np.bincount(part, loads).max()
        assert (status == OK) == (largest <= max(total * 103 // 2400, -(-total // 24)))
        kept += status == OK
    assert kept >= 20


def test_an_empty_block_takes_no_fixed_vertex():
    """The lightest vertices fill blocks of small shares, of which one is fixed elsewhere."""
    rows, targets = [0, 2, 4, 5, 6, 8], [1, 3, 0, 4, 4, 0, 1, 2]
    fixed = np.array([0, 0, 2, -1, -1])
    status, part, _ = blocks_of(
        rows, targets, None, [0, 0, 8, 4, 3], k=4, capacity=[19, 3, 23, 8], seed=219, fixed=fixed
    )
    assert status == OVERLOADED  # the loads are too few for these shares
    assert part[:3].tolist() == [0, 0, 2]
    assert len(set(part.tolist())) == 4


@pytest.mark.parametrize("machine", ["core:24@1", "node:3@10 core:8@1"])
def test_blocks_with_fixed_vertices_are_those_of_the_core(machine):
    graph, rng = lattice(50, 6), np.random.default_rng(5)
    fixed = np.where(rng.random(graph.n) < 0.02, rng.integers(0, 24, graph.n), -1).astype(np.int32)
    where = hb.allocate(machine)
    share = np.full(24, int(graph.loads.sum()) * 103 // 2400)
    bounds = Bounds(share, linear_cost=held(None, fixed >= 0, fixed))
    settings = {field.name: getattr(DeepMultisection(), field.name) for field in fields(DeepMultisection)}
    found = deep_multisection(
        search_problem(graph, where, bounds), np.array(where.groups(), np.int32), np.ones(24, np.int64),
        share, settings, control=RunControl(seed=9),
    )  # fmt: skip
    rows, targets, weights, loads = parts(graph)
    status, part, result = blocks_of(rows, targets, weights, loads, machine=machine, fixed=fixed, seed=9)
    assert (status, result.moved) == (OK, 0)
    assert part.tolist() == found.tolist()


def test_vertices_fixed_beyond_a_bound_stay_and_keep_others_away():
    rows, targets, _, _ = parts(lattice(20))
    fixed = np.where(np.arange(400) % 3 == 0, 2, -1)
    status, part, result = blocks_of(rows, targets, machine="node:2@10 core:4@1", fixed=fixed)
    assert status == OVERLOADED
    assert np.flatnonzero(part == 2).tolist() == np.flatnonzero(fixed == 2).tolist()
    assert np.delete(np.bincount(part, minlength=8), 2).max() <= 51
    assert result.imbalance == pytest.approx(134 * 8 / 400 - 1)
    everything = np.arange(400) % 5
    status, part, _ = blocks_of(rows, targets, k=8, fixed=everything, imbalance=7.0)
    assert (status, part.tolist()) == (OK, everything.tolist())  # three blocks stay empty


def test_null_pointers_are_refused():
    assert library.hopbytes_map(None, None, None, None) == NULL
    library.hopbytes_default_options(None)


def test_loops_and_repeated_edges():
    status, part, result = blocks_of([0, 4, 6, 6], [1, 0, 1, 1, 0, 0], [2, 9, 1, 4, 5, 2], k=3)
    assert status == OK
    assert sorted(part.tolist()) == [0, 1, 2]
    assert result.cut == 7


def test_a_time_limit_ends_the_search_with_valid_blocks():
    rows, targets, weights, _ = parts(lattice(150, 1))
    status, part, _ = blocks_of(rows, targets, weights, None, k=64, time_limit=1e-9)
    assert status == OK
    assert np.bincount(part, minlength=64).max() <= 150 * 150 * 1.03 / 64


def test_version():
    assert library.hopbytes_version().decode() == hb.__version__


# ------------------------------------------------------------------------------------------------ programs


def words(option):
    command = [sys.executable, "-m", "hopbytes.config", *option]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiler(*names):
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"no compiler: {', '.join(names)}")
    return found


def square(machine="node:2@10 core:4@1"):
    rows, targets, _, _ = parts(lattice(32))
    return blocks_of(rows, targets, machine=machine)


def test_the_example_in_c(tmp_path):
    program = tmp_path / "square"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(
        [
            compiler("cc", "gcc"),
            *flags,
            EXAMPLES / "library/square.c",
            *words(["--cflags", "--libs"]),
            "-o",
            program,
        ]
    )
    _, _, result = square()
    assert run([program]) == f"cost {result.cost} cut {result.cut} imbalance {result.imbalance:.4f}\n"


def test_the_example_in_c_plus_plus_and_kahips_names(tmp_path):
    program = tmp_path / "square"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
    source = EXAMPLES / "library/square.cpp"
    run([compiler("c++", "g++"), *flags, source, *words(["--cflags", "--libs"]), "-o", program])
    (_, _, mapped), (_, _, flat) = square(), square("core:8@1")
    lines = run([program]).splitlines()
    assert lines[0] == f"cost {mapped.cost} cut {mapped.cut}"
    assert lines[1:] == [f"kaffpa cut {flat.cut}", f"process_mapping qap {2 * mapped.cost}"]


KAHIP = """#include <hopbytes_kahip.h>
int main(void) {
  int n = 3, k = 3, cut = 0, qap = 0, rows[] = {0, 1, 3, 4}, targets[] = {1, 0, 2, 1}, part[3];
  int weights[] = {INT_MAX, INT_MAX, 7, 7}, sizes[] = {3}, distances[] = {1};
  double imbalance = 0.03;
  kaffpa(&n, NULL, rows, weights, targets, &k, &imbalance, true, 0, ECO, &cut, part);
  printf("%d", cut);
  process_mapping(&n, NULL, rows, weights, targets, sizes, distances, 1, FAST, MAPMODE_MULTISECTION,
                  &imbalance, true, 0, &cut, &qap, part);
  printf(" %d %d\\n", cut, qap);
  return 0;
}
"""


def test_costs_beyond_the_integers_of_kahip(tmp_path):
    source = tmp_path / "a.c"
    source.write_text(KAHIP)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    run([compiler("cc", "gcc"), *flags, source, *words(["--cflags", "--libs"]), "-o", tmp_path / "a"])
    assert run([tmp_path / "a"]) == f"{2**31 - 1} {2**31 - 1} {2**31 - 1}\n"


SHAREDMAP = """#include <hopbytes_sharedmap.h>
#include <cstdio>
#include <vector>
int main() {
  std::vector<int> start{0}, target, ones, loads(256, 1), part(256, -1);
  for (int v = 0; v < 256; ++v) {
    for (int u : {v - 16, v % 16 ? v - 1 : -1, v % 16 < 15 ? v + 1 : -1, v + 16})
      if (u >= 0 && u < 256) target.push_back(u);
    start.push_back(int(target.size()));
  }
  ones.assign(target.size(), 1);
  int inner_first[] = {4, 2}, distance[] = {1, 10}, cost = 0, bad = 0;
  auto call = [&](int l, int& found) {
    shared_map_hierarchical_multisection(256, loads.data(), start.data(), ones.data(), target.data(),
                                         inner_first, distance, l, 0.03f, 2, 3, NB_LAYER, MTKAHYPAR_DEFAULT,
                                         KAFFPA_FAST, found, part.data(), true);
  };
  auto check = [&](int l) {
    return shared_map_hierarchical_multisection_assert_input(
        256, loads.data(), start.data(), ones.data(), target.data(), inner_first, distance, l, 0.03f, 2, 3,
        NB_LAYER, MTKAHYPAR_DEFAULT, KAFFPA_FAST, false);
  };
  call(0, bad);
  if (part[0] != -1) return 1;
  call(2, cost);
  std::printf("%d %d %d %d %s", bad, cost, check(2), check(0), algorithm_to_string(KAFFPA_ECO).c_str());
  target[0] = 99;
  std::printf(" %d\\n", check(2));
  for (int b : part) std::printf("%d ", b);
}
"""


def test_sharedmaps_names(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text(SHAREDMAP)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
    run([compiler("c++", "g++"), *flags, source, *words(["--cflags", "--libs"]), "-o", tmp_path / "a"])
    first, blocks = run([tmp_path / "a"]).splitlines()
    rows, targets, _, _ = parts(lattice(16))
    _, own, result = blocks_of(
        rows, targets, machine="a:2@10 b:4@1", seed=3, effort=1, imbalance=float(np.float32(0.03))
    )
    assert first == f"-1 {2 * result.cost} 1 0 KAFFPA_ECO 0"
    assert [int(each) for each in blocks.split()] == own.tolist()


def test_more_effort_finds_less_cost():
    csr = grid(20, 20, 20).symmetric()
    rows, targets = csr.indptr, csr.targets
    arguments = {"machine": "node:3@100 socket:2@10 core:6@1", "imbalance": 0.02}
    costs = []
    for effort in (-1, 0, 1):
        found = [blocks_of(rows, targets, seed=seed, effort=effort, **arguments) for seed in range(3)]
        assert {status for status, _, _ in found} == {OK}
        assert all(np.bincount(part).max() <= 8000 / 36 * 1.02 for _, part, _ in found)
        costs.append(sum(result.cost for _, _, result in found))
    assert costs == sorted(costs, reverse=True)
    again = blocks_of(rows, targets, effort=1, threads=4, **arguments)
    assert again[1].tolist() == blocks_of(rows, targets, effort=1, **arguments)[1].tolist()


def test_the_example_in_fortran(tmp_path):
    program = tmp_path / "square"
    run(
        [compiler("gfortran"), EXAMPLES / "library/square.f90", *words(["--libs"]), "-o", program],
        cwd=tmp_path,
    )
    _, _, result = square()
    assert run([program]) == f"cost {result.cost} cut {result.cut} blocks 1 to 8\n"


def test_pkg_config(tmp_path):
    tool = compiler("pkg-config")
    path = os.environ | {"PKG_CONFIG_PATH": str(LIB / "pkgconfig")}
    flags = run([tool, "--cflags", "--libs", "hopbytes"], env=path).split()
    run([compiler("cc", "gcc"), EXAMPLES / "library/square.c", *flags, "-o", tmp_path / "square"])
    assert run([tmp_path / "square"]).startswith("cost ")


def test_find_package(tmp_path):
    tool = compiler("cmake")
    compiler("c++", "g++")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(square CXX)\nfind_package(hopbytes 0.1 REQUIRED)\n"
        f'add_executable(square "{EXAMPLES}/library/square.cpp")\n'
        "target_link_libraries(square hopbytes::hopbytes)\n"
    )
    prefix = f"-DCMAKE_PREFIX_PATH={words(['--prefix'])[0]}"
    run([tool, "-S", tmp_path, "-B", tmp_path / "build", prefix])
    run([tool, "--build", tmp_path / "build"])
    assert run([tmp_path / "build/square"]).startswith("cost ")


FIXED_IN_C = """#include <hopbytes.h>
#include <stdio.h>
int main(void) {
  int32_t rows[13], targets[24], fixed[12], part[12], v;
  hopbytes_graph ring = {.n = 12, .rows = rows, .targets = targets, .index_bits = 32, .weight_bits = 32};
  hopbytes_options options;
  for (v = 0; v < 12; ++v) {
    rows[v] = 2 * v, targets[2 * v] = (v + 1) % 12, targets[2 * v + 1] = (v + 11) % 12;
    fixed[v] = v == 4 ? 2 : v == 5 ? 0 : -1;
  }
  rows[12] = 24;
  hopbytes_default_options(&options);
  options.k = 3, options.fixed = fixed;
  printf("%d", hopbytes_map(&ring, &options, part, NULL));
  for (v = 0; v < 12; ++v) printf(" %d", (int)part[v]);
  fixed[7] = 3;
  printf("\\n%s\\n", hopbytes_message(hopbytes_map(&ring, &options, part, NULL)));
  return 0;
}
"""


def test_fixed_vertices_from_c(tmp_path):
    (tmp_path / "a.c").write_text(FIXED_IN_C)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    line = [compiler("cc", "gcc"), *flags, tmp_path / "a.c", *words(["--cflags", "--libs"])]
    run([*line, "-o", tmp_path / "a"])
    first, second = run([tmp_path / "a"]).splitlines()
    status, *part = map(int, first.split())
    assert (status, part[4], part[5]) == (OK, 2, 0)
    assert sum(part[v] != part[v - 1] for v in range(12)) == 3  # three arcs of four
    assert np.bincount(part).tolist() == [4, 4, 4]
    assert second.startswith("a vertex is fixed to no block")


@pytest.mark.parametrize("arguments", [[], ["--nothing"]])
def test_config_says_what_it_expects(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "hopbytes.config", *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (1, 1, "")


def test_calls_of_several_threads_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    rows, targets, weights, loads = parts(lattice(30, 3))

    def call(seed):
        return blocks_of(rows, targets, weights, loads, k=6, seed=seed % 3, threads=2)[1].tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(call, range(12)))
    assert found == [call(seed) for seed in range(12)]
