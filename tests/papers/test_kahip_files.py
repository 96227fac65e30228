"""Files of KaHIP and VieM, there and back: graphs and mappings as their programs read them, and their J.

The reader and J below know nothing of hopbytes: they follow the manuals of METIS and KaHIP. KaHIP's own
program judges where its Python package is installed, which offers partitions and their cut.
"""

import json
import math

import numpy as np
import pytest

import hopbytes as hb
from helpers.thorough import most


def their_graph(path):
    """Weighted edges of a METIS file, by line: comments begin with %, vertices count from 1."""
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("%")]
    n, edges, form = int(lines[0][0]), int(lines[0][1]), f"{lines[0][2] if len(lines[0]) > 2 else '0':0>3}"
    assert form[0] == "0"
    found = {}
    for vertex, line in enumerate(lines[1 : n + 1]):
        numbers = [int(word) for word in line[1 if form[1] == "1" else 0 :]]
        pairs = zip(numbers[::2], numbers[1::2], strict=True) if form[2] == "1" else ((u, 1) for u in numbers)
        for neighbour, weight in pairs:
            found[vertex, neighbour - 1] = weight
    assert len(found) == 2 * edges
    assert all(found[v, u] == weight for (u, v), weight in found.items())
    return n, found


def their_mapping(path):
    """The block or PE of every vertex, one a line and nothing else."""
    return [int(line) for line in path.read_text().splitlines()]


def their_cost(edges, pe, hierarchy, distance):
    """J of VieM: the distance of two PEs is that of the innermost unit that holds both, found by division."""
    sizes, apart = ([int(word) for word in text.split(":")] for text in (hierarchy, distance))
    total = 0
    for (u, v), weight in edges.items():
        a, b = pe[u], pe[v]
        for size, far in zip(sizes, apart, strict=True):
            if a == b:
                break
            a, b = a // size, b // size
            if a == b:
                total += weight * far
    return total


HIERARCHIES = [("4:8:2", "1:10:100"), ("3:5", "2:7"), ("2:2:2:3", "1:2:4:9"), ("6", "5")]


def drawn(seed, n):
    """A random symmetric pattern with volumes."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n)
    apart = tails != heads
    volumes = rng.integers(1, 50, 4 * n)[apart]
    tails, heads = tails[apart], heads[apart]
    return hb.CommGraph.from_edges(
        np.append(tails, heads), np.append(heads, tails), np.append(volumes, volumes), n=n
    )


@pytest.mark.parametrize("seed", range(most(40, 8)))
def test_their_cost_of_our_files_is_ours(tmp_path, seed):
    hierarchy, distance = HIERARCHIES[seed % len(HIERARCHIES)]
    k = math.prod(int(word) for word in hierarchy.split(":"))
    graph = drawn(seed, k * (1 + seed % 3))
    hb.write(graph, tmp_path / "a.graph", "metis")
    mapping = hb.map_tasks(
        graph, hb.allocate(hierarchy=hierarchy, distance=distance), "fast", seed=seed,
        partition=graph.n > k or None,
    )
    hb.write(mapping, tmp_path / "a.txt", "plain")
    n, edges = their_graph(tmp_path / "a.graph")
    pe = their_mapping(tmp_path / "a.txt")
    assert n == len(pe) == graph.n
    assert pe == mapping.pe.tolist()
    assert their_cost(edges, pe, hierarchy, distance) == mapping.info["comm_cost"]


@pytest.mark.parametrize("seed", range(most(40, 8)))
def test_our_cost_of_their_files_is_theirs(tmp_path, hopbytes, seed):
    """A graph and a mapping as VieM writes them, with vertex weights and comments in the graph."""
    hierarchy, distance = HIERARCHIES[seed % len(HIERARCHIES)]
    k = math.prod(int(word) for word in hierarchy.split(":"))
    graph, rng = drawn(seed + 100, k), np.random.default_rng(seed)
    lines = ["% made by hand", f"{graph.n} {graph.m // 2} 11"]
    for begin, end in zip(graph.indptr, graph.indptr[1:], strict=False):
        pairs = zip(graph.targets[begin:end] + 1, graph.volumes[begin:end], strict=True)
        lines.append(" ".join(["1", *(f"{u} {w}" for u, w in pairs)]))
    (tmp_path / "a.graph").write_text("\n".join(lines) + "\n")
    pe = rng.permutation(k)
    (tmp_path / "tmppartition").write_text("".join(f"{each}\n" for each in pe))
    n, edges = their_graph(tmp_path / "a.graph")
    assert n == k
    files = [str(tmp_path / name) for name in ("a.graph", "tmppartition")]
    said = hopbytes("eval", *files, "--hierarchy", hierarchy, "--distance", distance, "--json")
    cost = json.loads(said.stdout)["comm_cost"]
    assert cost == their_cost(edges, pe.tolist(), hierarchy, distance)


@pytest.mark.parametrize("seed", range(5))
def test_kahip_counts_the_cut_of_its_partition_as_we_do(tmp_path, seed):
    kahip = pytest.importorskip("kahip", reason="no KaHIP: pip install kahip")
    hb.write(drawn(seed, 60), tmp_path / "a.graph", "metis")
    n, edges = their_graph(tmp_path / "a.graph")
    rows = [sorted((v, weight) for (u, v), weight in edges.items() if u == vertex) for vertex in range(n)]
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).tolist()
    heads, weights = ([pair[i] for row in rows for pair in row] for i in (0, 1))
    cut, block = kahip.kaffpa([1] * n, start, weights, heads, 4, 0.03, True, seed, 0)
    (tmp_path / "a.txt").write_text("".join(f"{each}\n" for each in block))
    where = hb.allocate("core:4@1")
    mapping = hb.read(tmp_path / "a.txt", where=where, holds="mapping")
    cost = hb.evaluate(hb.read(tmp_path / "a.graph"), mapping).comm_cost
    assert cost == 2 * cut == sum(weight for (u, v), weight in edges.items() if block[u] != block[v])
