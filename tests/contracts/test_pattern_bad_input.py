"""No input may crash or hang the process, and each is refused in one line that says where and why."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from helpers.golden import compare, edited, graph_facts, outcomes
from helpers.thorough import most
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Format, formats
from hopbytes.formats.exchange import read, write
from hopbytes.model.comm_graph import CommGraph

PATTERNS = [
    name for name, format in formats.items()
    if format.holds == "pattern" and type(format).write_pattern is not Format.write_pattern
]  # what is only read, recordings of other tools, has its own tests
QUICK = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=most(60, 30)
)


def text(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path)


COORDINATES = "%%MatrixMarket matrix coordinate"
BAD = [
    ("a.graph", "5 2\n2\n1 3\n2\n", "a.graph:5: the file ends after 3 vertices, expected 5"),
    ("a.graph", "3 2\n2\n1 3\n", "a.graph:1: 3 neighbours, an odd number, expected 2 edges"),
    ("a.graph", "3 2\n2\n1 4\n2\n", "a.graph:3: task 4, expected a neighbour from 1 to 3"),
    ("a.graph", "3 2\n2\n1 0\n2\n", "a.graph:3: task 0, expected a neighbour from 1 to 3"),
    ("a.graph", "3 2\n2\n1 2\n2\n", "a.graph:3: vertex 2 is its own neighbour"),
    ("a.graph", "3 2\n2\n1 3 1\n2\n", "a.graph:3: a neighbour is listed twice"),
    ("a.graph", "3 2\n2 3\n1 3\n\n", "a.graph:2: vertex 1 lists 3, but 3 does not list 1"),
    ("a.graph", "3 2 1\n2 5\n1 5 3 6\n2 7\n", "a.graph:3: edge 2 - 3 has weight 6, but 7 in the row of 3"),
    ("a.graph", "3 5\n2\n1 3\n2\n", "a.graph:1: 3 vertices and 5 edges, more than a file of"),
    ("a.graph", "3 1\n2\n1 3\n2\n", "a.graph:3: more neighbours than expected"),
    ("a.graph", "%\n%%%%%%%%\n3 3\n2\n1 3\n2\n", "a.graph:3: 2 edges, expected 3 edges"),
    ("a.graph", "3 2 1\n2 5\n1 5 3\n2 6\n", "a.graph:3: the last neighbour has no edge weight"),
    ("a.graph", "3 2 10\n7 2\n\n9 2\n", "a.graph:3: fewer vertex weights than the header promises"),
    ("a.graph", "3 2 1\n2 -5\n1 5 3 6\n2 6\n", "a.graph:2: '-5', expected a number >= 0"),
    ("a.graph", "3 2 1\n2 nan\n1 5 3 6\n2 6\n", "a.graph:2: 'nan', expected a number"),
    ("a.graph", "3 2 1\n2 1.5\n1 5 3 6\n2 6\n", "a.graph:2: '1.5', expected a number"),
    ("a.graph", "2 1\n2\n1\n1\n", "a.graph:4: more lines than vertices"),
    ("a.graph", "2 1 10 9223372036854775808\n1 2\n1 1\n", "a.graph:1: 9223372036854775808 weights"),
    ("a.graph", "2 1 10 0\n1 2\n1 1\n", "a.graph:1: 0 weights per vertex, expected 1 to"),
    ("a.graph", "2 1 12\n2\n1\n", "a.graph:1: flags '012', expected three digits"),
    ("a.graph", "2\n2\n1\n", "a.graph:1: '2', expected a header"),
    ("a.graph", "%\n%", "a.graph:2: nothing but comments"),
    ("a.graph", "9000000000 1\n2\n1\n", "a.graph:1: 9000000000 vertices, expected at most"),
    ("a.graph", "1000000000 5000000000\n2\n1\n", "a.graph:1: 1000000000 vertices and 5000000000 edges, more"),
    ("a.graph", b"\x00\x01\x02\xff", r"a.graph:1: '\x00\x01\x02\xff', expected a header"),
    ("a.graph", b"2 1\n2\n\x00\xff\n", r"a.graph:3: '\x00\xff', expected a number"),
    ("a.edges", "0 1 5\n1 0\n", "a.edges:2: a different number of fields, expected 3 in each line"),
    ("a.edges", "0 1 5\n1 0 5 6\n", "a.edges:2: a different number of fields, expected 3 in each line"),
    ("a.edges", "0 1 5 6 7\n", "a.edges:1: 5 numbers, expected source target"),
    ("a.edges", "2\n0 1 5\n1 2 5\n", "a.edges:3: task 2, expected 0 to 1"),
    ("a.edges", "0 1 5\n1 -1 5\n", "a.edges:2: '-1', expected a number >= 0"),
    ("a.edges", "0 1 5\n1 0 -0.5\n", "a.edges:2: '-0.5', expected a number >= 0"),
    ("a.edges", "0 1 5.5\n1 0.5 5\n", "a.edges:2: '0.5', expected a whole number"),
    ("a.edges", "0 1 5.5 1\n1 0 5 1.5\n", "a.edges:2: '1.5', expected a whole number"),
    ("a.edges", "0 1 nan\n", "a.edges:1: 'nan', expected a number"),
    ("a.edges", "0 1 1.5\n1 0 inf\n", "a.edges:2: 'inf', expected a number"),
    ("a.edges", "0 2000000000 1\n", "2000000001 tasks, expected at most 16777216"),
    ("a.edges", "2000000000\n0 1 1\n", "a.edges:1: 2000000000 tasks, expected at most"),
    ("a.edges", "four\n", "a.edges:1: 'four', expected the number of tasks"),
    ("a.mat", "0 1\n1 0\n0 0\n", "a.mat:3: 3 lines of 2 numbers, expected a square"),
    ("a.mat", "0 1 2\n1 0 0\n", "a.mat:2: 2 lines of 3 numbers, expected a square"),
    ("a.mat", "0 1\n1\n", "a.mat:2: a different number of fields"),
    ("a.edges", "0 1 5\n0 2 1,000\n", "a.edges:2: numbers separated by commas and by blanks"),
    ("a.edges", "0,1 5 7\n", "a.edges:1: numbers separated by commas and by blanks"),
    ("a.csv", "0,1\n1,,0\n", "a.csv:2: an empty field between commas"),
    ("a.csv", "0,1,\n1,0,\n", "a.csv:1: an empty field between commas"),
    ("a.csv", "a,b\n0,1\n", "a.csv:1: 'a', expected a number"),
    ("a.csv", "0,1\n-3,0\n", "a.csv:2: '-3', expected a number >= 0"),
    ("a.csv", "0,1\nNaN,0\n", "a.csv:2: 'NaN', expected a number"),
    ("a.mtx", f"{COORDINATES} real general\n2 3 1\n1 2 1\n", "a.mtx:2: 2 rows and 3 columns"),
    ("a.mtx", f"{COORDINATES} real general\n2 2 2\n1 2 1\n2 1 -4\n", "a.mtx:4: '-4', expected a number >= 0"),
    ("a.mtx", f"{COORDINATES} real general\n2 2 2\n1 2 nan\n2 1 4\n", "a.mtx:3: 'nan', expected a number"),
    ("a.mtx", f"{COORDINATES} complex general\n2 2 1\n1 2 1 1\n", "a.mtx:1: field 'complex'"),
    ("a.mtx", f"{COORDINATES} real hermitian\n2 2 1\n1 2 1\n", "a.mtx:1: symmetry"),
    ("a.mtx", f"{COORDINATES} real general\n2 2 9000000000\n1 2 1\n", "a.mtx:2: 9000000000"),
    ("a.mtx", f"{COORDINATES} real general\n2 2 1\n1 5 1\n", "a.mtx:3: task 5, expected 1 to 2"),
    ("a.mtx", f"{COORDINATES} real general\n2 2 2\n1 2 1\n", "a.mtx"),
    ("a.mtx", f"{COORDINATES} real general\n%\n", "a.mtx:2: nothing but comments"),
    ("a.mtx", "2 2 1\n1 2 1\n", "a.mtx:1: no Matrix Market banner"),
    ("a.npz", b"PK\x03\x04 and no more", "a.npz: a damaged archive"),
    ("a.pattern", b"no archive at all", "a.pattern: a damaged archive"),
]


GOOD = {
    "a.graph": "% a path\n4 3 111 2\n3 1 2 2 5\n% second\n4 1 2 1 5 3 6\n5 1 2 2 6 4 7\n\n6 0 1 3 7\n",
    "b.graph": "3 2 1\n2 5\n1 5 3 2\n2 2\n", "a.grf": "0\n3 4\n0 011\n4 1 7 1\n5 2 7 0 9 2\n6 1 9 1\n",
    "b.grf": "0\n3 4\n1 100\n20 1 7\n7 2 20 3\n3 1 7\n", "a.edges": "# list\n5\n0 1 5 2\n1 2 6 1\n4 0 9 7\n",
    "b.edges": "1, 2, 0.25\n2, 3, 1e1\n3, 4, 2\n", "a.mat": "0 1.5 2\n3 0 4\n5 6 7\n",
    "a.csv": "0,1,2\n3,0,4\n5,6,0\n",
    "b.csv": "0,1.5\n2,0\n",
    "a.mtx": f"{COORDINATES} real symmetric\n% comment\n3 3 3\n2 1 5\n3 2 7\n3 1 9\n",
    "b.mtx": "%%MatrixMarket matrix array integer general\n2 2\n0\n1\n2\n3\n",
    "a.txt": "program stencil:2x3 ./a\n# two\nprogram transpose:2x2 './b c' -x\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_changed_files_are_read_or_refused_as_they_were(tmp_path, name):
    """Why golden: each of many damages has its answer, or its line, that no other test asks for."""
    found = outcomes(edited(GOOD[name], 250), lambda changed: graph_facts(text(tmp_path, changed, name)))
    compare("changed_files.txt", {name: found})


@pytest.mark.parametrize(("name", "content", "message"), BAD)
@pytest.mark.parametrize("packed", [False, True])
def test_bad_files_are_explained(tmp_path, name, content, message, packed):
    """The same words whether the size of the file is known beforehand or not."""
    data = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(FormatError) as caught:
        text(tmp_path, gzip.compress(data) if packed else data, name)
    found = str(caught.value)
    assert "\n" not in found
    assert found.startswith(str(tmp_path))
    if not (packed and ", more" in message):  # promises cannot be compared with an unknown size
        assert message in found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.graph", f"2 1 1\n2 {2**63}\n1 {2**63}\n"),
        ("a.graph", f"2 1 1\n2 {2**62}\n1 {2**62}\n"),
        ("a.graph", f"2 1 10\n{2**62} 2\n{2**62} 1\n"),
        ("a.edges", f"0 1 {10**30}\n"),
        ("a.edges", f"0 1 {2**62}\n1 0 {2**62}\n"),
        ("a.edges", "0 1 1e30\n"),
        ("a.edges", "0 1 1e999\n"),
        ("a.mtx", f"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 {2**64}\n"),
    ],
)
def test_overflow_names_the_file(tmp_path, name, content):
    with pytest.raises(ScaleError, match=r"a\.(graph|edges|mtx).*divide"):
        text(tmp_path, content, name)


def test_a_header_is_not_believed(tmp_path):
    """Ten thousand million bytes promised in a compressed file of forty: refused without being allocated."""
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="ends after 2 vertices"):
            text(tmp_path, gzip.compress(b"2000000000 9000000000 11\n1 2 5\n1 1 5\n"), "a.graph.gz")
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def npz(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path


def test_archives_are_not_believed(tmp_path):
    header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000,), }"
    with pytest.raises(FormatError, match=mentions("1000000000", "8", "0")):
        read(npz(tmp_path / "a.npz", indptr__npy=header.ljust(127) + b"\n"))
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}]), allow_pickle=True)
    with pytest.raises(FormatError, match="expected plain numbers"):
        read(npz(tmp_path / "a.npz", indptr__npy=pickled.getvalue()))
    with pytest.raises(FormatError, match=mentions("header.json")):
        read(npz(tmp_path / "a.pattern", header__json=b"{"))
    with pytest.raises(UnsupportedError, match=mentions("99", "1")):
        read(npz(tmp_path / "a.pattern", header__json=b'{"format": "hopbytes pattern", "version": 99}'))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(5_000_000))
    (tmp_path / "a.npz").write_bytes(bomb.getvalue())
    with pytest.raises(FormatError, match=mentions("5000000", "100000")):
        read(tmp_path / "a.npz", max_bytes=100_000)


def test_a_symmetric_claim_is_checked(tmp_path):
    graph = CommGraph.from_edges([0], [1], [3])
    lying = CommGraph(graph.indptr, graph.targets, graph.volumes, undirected=True)
    for name in ("a.npz", "a.pattern"):
        write(lying, tmp_path / name)
        with pytest.raises(FormatError, match="marked as undirected, but"):
            read(tmp_path / name)


#: Arrays of archives: rows by the names of hopbytes, and SciPy's matrices. None leaves an array out.
ROWS = {"indptr": [0, 1, 2], "targets": [1, 0], "volumes": [5, 7], "messages": [1, 2], "loads": [3, 4]}
CSR = {"format": b"csr", "shape": [2, 2], "indptr": [0, 1, 2], "indices": [1, 0], "data": [5, 7]}
COO = {"format": b"coo", "shape": [2, 2], "row": [1, 0], "col": [0, 1], "data": [7, 5]}


@pytest.mark.parametrize(("arrays", "change", "words"), [
    (ROWS, {"indptr": None}, "indptr missing"), (ROWS, {"indptr": np.empty(0, int)}, "indptr missing"),
    (ROWS, {"targets": [1.0, 0.0]}, "targets 1-d integers"),
    (ROWS, {"targets": [-1, 0]}, "targets -1 to 0"),
    (ROWS, {"targets": [2**31, 0]}, "targets 2147483648"), (ROWS, {"volumes": [[5, 7]]}, "volumes 1-d"),
    (ROWS, {"loads": [-3, 4]}, "loads -3"),
    (ROWS, {"targets": [2, 0]}, "0..1"), (ROWS, {"indptr": [0, 1, 3]}, "indptr ascend 2"),
    (CSR, {"shape": [2, 3]}, "[2, 3] square"), (CSR, {"shape": [2]}, "[2] square"),
    (CSR, {"shape": [2.0, 2.0]}, "square"),
    (CSR, {"data": None}, "data missing csr"), (CSR, {"indices": [[1, 0]]}, "indices missing"),
    (CSR, {"indptr": [0, 1]}, "indptr ascending"), (CSR, {"indptr": [0, 2, 1]}, "indptr ascending"),
    (CSR, {"indptr": [0, 1, 1]}, "indptr ascending"), (COO, {"row": None}, "row missing coo"),
    (CSR, {"format": None}, ""),
    (CSR, {"format": None, "indices": None}, "archive holds data, indptr, shape"),
    (CSR, {"shape": [2**25, 2**25]}, "33554432 16777216"),
])  # fmt: skip
def test_arrays_that_do_not_fit_each_other(tmp_path, arrays, change, words):
    save(tmp_path / "a.npz", arrays | change)
    if words:
        with pytest.raises((FormatError, ScaleError)) as caught:
            read(tmp_path / "a.npz")
        assert all(word in str(caught.value) for word in words.split()), caught.value
    else:
        assert read(tmp_path / "a.npz").volumes.tolist() == [5, 7]


@pytest.mark.parametrize("change", [
    {}, {"data": np.array([5, 7], ">i2")}, {"data": np.array([5, 7], np.uint8)}, {"data": [5.0, 7.0]},
    {"format": np.array("csr")}, {"format": b"csc", "data": [7, 5]}, {**COO, "indptr": None, "indices": None},
])  # fmt: skip
def test_layouts_of_scipy(tmp_path, change):
    save(tmp_path / "a.npz", CSR | change)
    graph = read(tmp_path / "a.npz")
    assert (graph.indptr.tolist(), graph.targets.tolist()) == ([0, 1, 2], [1, 0])
    assert graph.volumes.tolist() == [5, 7]


def save(path, arrays):
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})


@pytest.mark.parametrize(("change", "words"), [
    ({"scale": 0}, "scale 0"), ({"scale": 10**9}, ""), ({"scale": 10**9 + 1}, "scale 1000000001"),
    ({"scale": "1"}, "'scale'"), ({"undirected": 1}, "'undirected'"), ({"meta": []}, "'meta'"),
    ({"format": "x"}, "another format"), ({"version": 2}, "2 1"), ({}, ""),
])  # fmt: skip
def test_headers_of_native_archives(tmp_path, change, words):
    path = tmp_path / "a.pattern"
    one = CommGraph.from_edges([0], [1], [3], n=2)
    write(dataclasses.replace(one, phases=(one,)), path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    header = json.loads(members["header.json"])
    npz(path, **{**members, "header.json": json.dumps(header | change).encode()})
    if words:
        with pytest.raises((FormatError, UnsupportedError)) as caught:
            read(path)
        assert all(word in str(caught.value) for word in words.split()), caught.value
    else:
        found = read(path)
        assert (found.scale, len(found.phases)) == (change.get("scale", 1), 1)
        assert found.phases[0].volumes.tolist() == [3]
    inner = npz(tmp_path / "b.pattern", **(members | {"indptr.npy": npy([0, 1, 1, 1])})).read_bytes()
    npz(path, **(members | {"phase0.pattern": inner}))
    with pytest.raises(FormatError, match=mentions("phase 0", "3", "2")):
        read(path)


def test_an_archive_as_large_as_is_allowed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, indptr=np.zeros(5001, np.int64), targets=np.empty(0, np.int32))
    with zipfile.ZipFile(path) as archive:
        total = sum(info.file_size for info in archive.infolist())
    assert read(path, max_bytes=total).n == 5000
    with pytest.raises(FormatError, match=mentions(str(total), str(total - 1))):
        read(path, max_bytes=total - 1)


def npy(values):
    stream = io.BytesIO()
    np.save(stream, np.array(values))
    return stream.getvalue()


# ---------------------------------------------------------------- fuzzing


def samples(tmp_path_factory):
    """One small valid file per format."""
    folder = tmp_path_factory.mktemp("seeds")
    graph = CommGraph.from_edges([0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3], [5, 5, 123456, 123456, 7, 7])
    files = {}
    for name in PATTERNS:
        write(graph, folder / name, format=name)
        files[name] = (folder / name).read_bytes()
    return files


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return samples(tmp_path_factory)


PIECES = [b"0", b"-1", b"99999999999", b"1e5", b"\n", b" ", b","]
KINDS = ["delete", "insert", "replace", "cut", "repeat"]
MUTATION = st.lists(
    st.tuples(st.sampled_from(KINDS), st.floats(0, 1), st.binary(max_size=6)),
    max_size=4,
)


def mutate(data, mutations):
    for kind, where, content in mutations:
        place = int(where * len(data))
        if kind == "cut":
            data = data[:place]
        elif kind == "repeat":
            data = data + data[place:]
        elif kind == "insert":
            data = data[:place] + content + data[place:]
        else:
            data = data[:place] + (content if kind == "replace" else b"") + data[place + len(content) :]
    return data


def survives(path, data, format):
    """Reading either works or says why not in one line; nothing else may happen."""
    path.write_bytes(data)
    fault = ""
    try:
        assert isinstance(read(path, format, max_bytes=1_000_000), CommGraph)
    except (FormatError, ScaleError, UnsupportedError) as error:
        fault = str(error)
    assert fault == "" or (str(path) in fault and "\n" not in fault)


@pytest.mark.parametrize("name", PATTERNS)
@settings(QUICK, max_examples=most(150, 50))
@given(mutations=MUTATION, digits=st.lists(st.sampled_from(PIECES)))
def test_mutated_files_never_crash(tmp_path, seeds, name, mutations, digits):
    data = mutate(seeds[name], mutations)
    for number, piece in enumerate(digits[:3]):
        place = (number + 1) * 7919 % (len(data) + 1)
        data = data[:place] + piece + data[place:]
    survives(tmp_path / "a", data, name)


@pytest.mark.parametrize("name", PATTERNS)
@QUICK
@given(data=st.binary(max_size=200) | st.text("0123456789 \n,.-%#", max_size=200).map(str.encode))
def test_random_bytes_never_crash(tmp_path, name, data):
    survives(tmp_path / "a", data, name)
