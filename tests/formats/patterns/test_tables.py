# ruff: noqa: E501 (short files in one line)
"""Edge lists: what is only apparently one, and what a list numbered from 1 or with tiny weights says."""

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import file_with

#: Two triangles of a METIS mesh, their nodes counted from 1: the number of elements, then their nodes.
MESH = "4\n1 2 5\n2 6 5\n2 3 6\n3 7 6\n"


def test_a_list_numbered_from_1_says_so(tmp_path):
    ring = "".join(f"{i} {i % 8 + 1} 1000\n" for i in range(1, 9))
    (said,) = hb.read(file_with(tmp_path / "ring.edges", ring)).meta["notices"]
    assert "task 0" in said
    assert "8, not 9" in said
    counted = hb.read(file_with(tmp_path / "counted.edges", "9\n" + ring))  # n is known: nothing is guessed
    assert "notices" not in counted.meta
    from_0 = hb.read(file_with(tmp_path / "from0.edges", "0 1\n1 2\n"))
    assert "notices" not in from_0.meta


def test_weights_below_a_billionth_keep_their_ratio(tmp_path):
    text = "0 1 1e-12\n1 2 1e-12\n2 3 1e-12\n0 3 1e-10\n"
    graph = hb.read(file_with(tmp_path / "tiny.edges", text))
    assert (graph.scale, graph.arc_volumes().tolist()) == (10**12, [1, 100, 1, 1])
    assert "notices" not in graph.meta
    mapping = hb.map_tasks(graph, "node:2@10 core:2@1")
    assert any("10^12" in notice for notice in mapping.info["notices"])
    assert mapping.pe[0] // 2 == mapping.pe[3] // 2


def test_what_no_factor_keeps_is_counted(tmp_path):
    graph = hb.read(file_with(tmp_path / "wide.edges", "0 1 1e-12\n1 2 1e9\n"))
    assert graph.arc_volumes().tolist() == [0, 10**15]
    assert "1 of 2 volumes count as 0" in graph.meta["notices"][0]


@pytest.mark.parametrize("name", ["x.mesh", "x.txt", "x"])
def test_a_mesh_is_no_edge_list(tmp_path, name):
    path = file_with(tmp_path / name, MESH)
    with pytest.raises(hb.FormatError, match=mentions("mesh", "m2gmetis")):
        hb.read(path)


@pytest.mark.parametrize("text", ["0 1 5\n1 0 5\n1 2 2\n2 1 2\n", "0 1\n1 0\n1 2\n", "0 3 0\r\n1 1 7\r\n"])
@pytest.mark.parametrize("name", ["x.txt", "x.tsv", "x"])
def test_a_list_that_begins_with_task_0_is_no_graph_of_scotch(tmp_path, text, name):
    assert hb.read_pattern(file_with(tmp_path / name, text)).meta["format"] == "edges"


def test_a_list_with_its_number_of_tasks_is_no_mesh(tmp_path):
    assert hb.read(file_with(tmp_path / "x.txt", "4\n0 1 9\n1 2 9\n2 3 9\n3 0 9\n")).n == 4
    assert hb.read(file_with(tmp_path / "y.txt", "4\n1 2 5\n2 3 5\n3 1 5\n")).m == 3
    assert hb.read(file_with(tmp_path / "z.edges", "8\n" + MESH[2:])).n == 8


def test_a_hypergraph_is_named(tmp_path):
    path = file_with(tmp_path / "karate.hgr", "3 4\n1 2\n1 3\n3 4\n")
    with pytest.raises(hb.FormatError, match="hypergraph"):
        hb.read(path)
    assert hb.read(path, "edges").n == 5


@pytest.mark.parametrize("padding", ["", "%" * 80 + "\n"])  # found by the size of the file, and by counting
def test_a_header_that_counts_both_directions_is_told(tmp_path, padding):
    path = file_with(tmp_path / "a.graph", padding + "3 4\n2 3\n1\n1\n")
    with pytest.raises(hb.FormatError, match="counts an edge once") as caught:
        hb.read(path)
    assert caught.value.line == 1 + bool(padding)


CRASHES = {
    "a NUL in an entry": (b"matrix coordinate integer general\n3 3 3\n1 2  9\x00653 7\n3 1 9\n", 3),
    "a NUL in a dense entry": (b"matrix array real general\n2 2\n\n\n2\n3\n42\x000\n1\n", 7),
}


@pytest.mark.parametrize("what", CRASHES)
def test_the_line_is_named(tmp_path, what):
    content, line = CRASHES[what]
    path = file_with(tmp_path / "a.mtx", b"%%MatrixMarket " + content)
    with pytest.raises(hb.FormatError) as error:
        hb.read(path)
    assert str(error.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("layout", ["array real general\n0 0", "coordinate real general\n0 0 0"])
def test_no_task_at_all(tmp_path, layout):
    path = file_with(tmp_path / "a.mtx", f"%%MatrixMarket matrix {layout}\n")
    assert hb.read(path).n == 0


@pytest.mark.parametrize(("name", "text", "m"), [
    ("a.mtx", "%%MatrixMarket matrix array integer general\n40 40\n" + "1\n" * 1600, 1600),
    ("a.mtx", "%%MatrixMarket matrix array integer symmetric\n40 40\n" + "1\n" * 820, 1600),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 81\n" + "".join(f"{i // 9 + 1} {i % 9 + 1}\n" for i in range(81)), 81),
    ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n9 9 81\n" + "".join(f"{i // 9 + 1} {i % 9 + 1} 1\n" for i in range(81)), 81),
    ("a.graph", "9 36\n" + "".join(" ".join(str(j) for j in range(1, 10) if j != i) + "\n" for i in range(1, 10)), 72),
    ("a.graph", "9 36 1\n" + "".join(" ".join(f"{j} 1" for j in range(1, 10) if j != i) + "\n" for i in range(1, 10)), 72),
    ("a.graph", "60 0\n" + "\n" * 60, 0),
])  # fmt: skip
def test_files_that_are_as_short_as_their_header_allows(tmp_path, name, text, m):
    """Compared with the size of the file, which the header alone must not exceed."""
    for content in (text, text[:-1]):
        assert hb.read(file_with(tmp_path / name, content)).m == m


def test_a_comment_sign_at_the_end(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n2 1 5\n3 2 7\n3 1 9%")
    assert hb.read(path).volumes.tolist() == [5, 9, 5, 7, 9, 7]


@pytest.mark.parametrize("entry", ["0 2 5", "2 0 5"])
def test_the_line_of_an_entry_below_1_is_named(tmp_path, entry):
    path = file_with(
        tmp_path / "a.mtx", f"%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 5\n{entry}\n3 1 5\n"
    )
    with pytest.raises(hb.FormatError, match=r"a\.mtx:4: task 0, expected 1 to 3"):
        hb.read(path)


def test_signs_of_values_are_read(tmp_path):
    banner = "%%MatrixMarket matrix coordinate real general\n2 2 2\n"
    graph = hb.read(file_with(tmp_path / "signs.mtx", banner + "1 2 +2.5e+00\n2 1 +3\n"))
    assert (graph.scale, graph.volumes.tolist()) == (10, [25, 30])
    assert hb.read(file_with(tmp_path / "signs.edges", "0 1 +7\n")).volumes.tolist() == [7]


@pytest.mark.parametrize("value", ["+", "+-5", "++5", "-5", "5+", "+nan"])
def test_values_with_wrong_signs_are_refused(tmp_path, value):
    with pytest.raises(hb.FormatError, match=mentions(":2:", value)):
        hb.read(file_with(tmp_path / "signs.edges", f"1 0 1\n0 1 {value}\n"))


def test_the_fields_that_an_array_may_have_are_named(tmp_path):
    path = file_with(tmp_path / "a.mtx", "%%MatrixMarket matrix array pattern general\n2 2\n")
    with pytest.raises(hb.FormatError, match="expected integer or real"):
        hb.read(path)
