"""The pattern of sparse matrix-vector products beside a plain definition."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import hopbytes as hb


def definition(entries, part, by):
    """Return (source, target) → numbers sent, for entries (i, j) of the matrix."""
    sent = {}
    for i, j in entries:
        owner_of_x, owner_of_y = part[j], part[i]
        if owner_of_x != owner_of_y:
            what = ("x", j) if by == "rows" else ("y", i)
            sent.setdefault((owner_of_x, owner_of_y), set()).add(what)
    return {pair: len(numbers) for pair, numbers in sent.items()}


def arcs(graph):
    ends = zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)
    return dict(zip(ends, graph.arc_volumes().tolist(), strict=True))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("by", ["rows", "columns"])
@pytest.mark.parametrize("seed", range(5))
def test_pattern_is_the_definition(folder, by, seed):
    rng = np.random.default_rng(seed)
    n, k = 30, 5
    matrix = scipy.sparse.random(n, n, 0.1, rng=rng) - scipy.sparse.eye(n)  # with negative entries
    if seed == 4:
        matrix = matrix + matrix.T
    scipy.io.mmwrite("a.mtx", matrix, symmetry="symmetric" if seed == 4 else "general")
    part = rng.permutation(np.arange(n) % k)
    (folder / "parts.txt").write_text("".join(f"{p}\n" for p in part))
    graph = hb.read(f"spmv:a.mtx:parts=parts.txt:by={by}:bytes=4")
    entries = np.argwhere(matrix.toarray()).tolist()
    assert arcs(graph) == {pair: 4 * count for pair, count in definition(entries, part.tolist(), by).items()}
    assert (graph.n, graph.of_processes) == (k, True)
    assert set(graph.arc_messages().tolist()) == {1}


def test_own_partition_is_balanced_and_better_than_chance(folder):
    grid = scipy.sparse.csr_array(hb.read("stencil:24x24").to_scipy()) + scipy.sparse.eye(576)
    scipy.io.mmwrite("grid.mtx", scipy.sparse.coo_array(grid))
    graph = hb.read("spmv:grid.mtx:parts=8")
    assert graph.n == 8
    part = hb.map_tasks(hb.CommGraph.from_scipy(grid), "core:8", "random", partition=True, seed=1).pe
    (folder / "random.txt").write_text("".join(f"{p}\n" for p in part))
    assert graph.total_volume * 4 < hb.read("spmv:grid.mtx:parts=random.txt").total_volume
    assert arcs(hb.read("spmv:grid.mtx:parts=8")) == arcs(graph)
    assert hb.read("spmv:grid.mtx:parts=1").m == 0


def test_own_partition_balances_what_a_process_computes(folder):
    """One row, or column, holds half of all entries: it has a process to itself, which gets 15 numbers."""
    arrow = np.eye(16)
    arrow[0] = 1
    for by, matrix in (("rows", arrow), ("columns", arrow.T)):
        scipy.io.mmwrite(f"{by}.mtx", scipy.sparse.coo_array(matrix))
        assert hb.read(f"spmv:{by}.mtx:parts=2:by={by}").total_volume == 15 * 8


@pytest.mark.parametrize(("spec", "error", "why"), [
    ("spmv:flat.mtx:parts=2", hb.FormatError, "flat.mtx: 2 rows and 3 columns, expected a square"),
    ("spmv:none.mtx:parts=2", hb.HopbytesError, "none.mtx"),
    ("spmv:bad.mtx:parts=2", hb.FormatError, "bad.mtx:"),
    ("spmv:wide.mtx:parts=2", hb.FormatError, "1000000000 rows with 1 entries"),
    ("spmv:parts.txt:parts=2", hb.FormatError, "parts.txt"),
    ("spmv:eye.mtx:parts=5", hb.UnsupportedError, "parts=5, expected 1 to 4"),
    ("spmv:eye.mtx:parts=0", hb.UnsupportedError, "parts=0"),
    ("spmv:eye.mtx:parts=parts.txt", hb.FormatError, "parts.txt: 3 parts for a matrix of 4 rows"),
    ("spmv:eye.mtx:parts=large.txt", hb.FormatError, "large.txt: part 9, expected 0 to 3"),
    ("spmv:eye.mtx:parts=words.txt", hb.FormatError, "words.txt:2"),
    ("spmv:eye.mtx:parts=2:by=blocks", hb.UnsupportedError, "by=blocks"),
    ("spmv:eye.mtx", hb.UnsupportedError, "parts=N"),
    ("spmv:", hb.UnsupportedError, "parts=N"),
])  # fmt: skip
def test_what_is_no_product_is_one_line(folder, spec, error, why):
    scipy.io.mmwrite("flat.mtx", scipy.sparse.coo_array(np.ones((2, 3))))
    scipy.io.mmwrite("eye.mtx", scipy.sparse.eye(4))
    text = (folder / "eye.mtx").read_text()
    (folder / "bad.mtx").write_text(text[: len(text) // 2] + "x")
    wide = text.partition("\n")[0] + "\n1000000000 1000000000 1\n1 1 1\n"
    (folder / "wide.mtx").write_text(wide)
    (folder / "parts.txt").write_text("0\n1\n2\n")
    (folder / "large.txt").write_text("0\n1\n2\n9\n")
    (folder / "words.txt").write_text("0\none\n2\n3\n")
    with pytest.raises(error, match=r".*") as caught:
        hb.read(spec)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
