"""One PE per line: what is written comes back, and bad input is refused by its line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.placements import mappings, place, read, write
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.mappings.stored import check_same_machine
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping


@pytest.mark.parametrize("form", ["plain", "openfoam"])
@given(mapping=mappings())
@settings(deadline=None, max_examples=50)
def test_a_mapping_comes_back(form, mapping):
    text = write(form, mapping).files[""]
    assert np.array_equal(read(form, text), mapping.pe)
    again = read(form, text, where=mapping.where, n=mapping.n)
    assert np.array_equal(again.pe, mapping.pe)
    assert again.where is mapping.where


def test_plain_skips_comments_and_blank_lines_and_takes_any_line_end():
    assert read("plain", "# a\n% b\n\n0\r\n 2 \n1").tolist() == [0, 2, 1]


@pytest.mark.parametrize(("text", "message"), [
    ("0\n1\nx\n", "file:3: 'x', expected the number of a PE"),
    ("0\n-1\n", "file:2: '-1', expected the number of a PE"),
    ("0\n1.5\n", "file:2: '1.5', expected the number of a PE"),
    ("0\n1 2\n3\n", "file:2: '1 2', expected the number of a PE"),
    ("0 1\n\n2\n", "file:1: '0 1', expected the number of a PE"),
    ("0\n9\n1\n", "file:2: PE 9, expected one of 0..3"),
    ("0\n99999999999999999999\n", "file:2: '99999999999999999999', expected the number of a PE"),
    ("0\n1\n", "file: 2 lines with a PE, expected 3, one for each task"),
    ("# nothing\n", "file: 0 lines with a PE, expected 3, one for each task"),
    (b"\x00\xff\n", "file:1: '\\x00\\\\xff', expected the number of a PE"),
])  # fmt: skip
def test_plain_names_the_bad_line(text, message):
    where = Allocation.whole(parse_machine("core:4"))
    with pytest.raises(FormatError) as caught:
        read("plain", text, where=where, n=3)
    assert str(caught.value) == message


@given(st.binary(max_size=200))
def test_plain_never_fails_in_another_way(data):
    try:
        pe = read("plain", data)
    except FormatError:
        return
    assert pe.dtype == np.int32


# Mappings stored as JSON: what is written comes back, and bad input is refused by the field's name.


@given(mappings())
@settings(deadline=None, max_examples=50)
def test_json_rebuilds_mapping_and_allocation(mapping):
    graph = CommGraph.from_edges([0], [mapping.n - 1], n=mapping.n)
    text = write("json", mapping, graph=graph, metrics={"comm_cost": 7}).files[""]
    again = read("json", text, graph=graph, where=mapping.where, n=mapping.n)
    assert np.array_equal(again.pe, mapping.pe)
    assert again.info == mapping.info
    assert again.where.hosts == mapping.where.hosts
    assert np.array_equal(again.where.core_start, mapping.where.core_start)
    assert np.array_equal(again.where.cores, mapping.where.cores)
    assert again.where.machine.spec() == mapping.where.machine.spec()
    record = json.loads(text)
    assert (record["n"], record["k"], record["metrics"]) == (mapping.n, mapping.where.k, {"comm_cost": 7})


def test_json_is_read_where_the_machines_file_is_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/square").write_text("0 1\n1 0\n")
    monkeypatch.chdir(tmp_path / "m")
    where = hb.allocate("table:square")
    hb.write(Mapping(np.array([1, 0], np.int32), where), "../stored.json")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=r"square: no such file.*`where`"):
        hb.read("stored.json")
    assert hb.read("stored.json", where=hb.allocate("table:m/square")).pe.tolist() == [1, 0]


def test_json_keeps_capacities():
    whole = Allocation.whole(parse_machine("core:2"))
    where = Allocation(whole.machine, whole.core_start, whole.cores, capacity=np.array([1, 3], np.int64))
    again = read("json", write("json", Mapping(np.array([1], np.int32), where)).files[""])
    assert again.where.capacity.tolist() == [1, 3]
    with pytest.raises(UnsupportedError):
        check_same_machine(again, whole)


def test_json_for_another_machine_or_pattern_is_refused():
    mapping = place("node:2@10 core:2@1", [0, 2])
    graph = CommGraph.from_edges([0], [1], [5])
    text = write("json", mapping, graph=graph).files[""]
    other = Allocation.whole(parse_machine("node:2@20 core:2@1"))
    with pytest.raises(UnsupportedError, match=r"4 slots with 4 cores of 'node:2@10 core:2@1'.*'node:2@20"):
        read("json", text, where=other)
    with pytest.raises(UnsupportedError, match="2 slots with 4 cores"):
        read("json", text, where=place("node:2@10 core:2@1", [0], cores_per_slot=2).where)
    with pytest.raises(UnsupportedError, match="another pattern"):
        read("json", text, graph=CommGraph.from_edges([0], [1], [6]))
    with pytest.raises(FormatError, match="2 tasks, expected 3"):
        read("json", text, n=3)


@pytest.mark.parametrize(("change", "message"), [
    ({"kind": "x"}, 'no "kind"'),
    ({"version": "1"}, "version 1, expected 1"),
    ({"version": 2}, "expected at most version 1"),
    ({"n": 3}, "n is 3, expected 2"),
    ({"k": 3}, "k is 3, expected 4"),
    ({"pe": [0, 1.5]}, "pe is .*expected a list of integers"),
    ({"pe": [0, 2**70]}, "pe is .*expected a list of integers"),
    ({"pe": [0, 2**40]}, "expected -2147483648 to 2147483647"),
    ({"pe": [0, [1]]}, "expected a list of integers"),
    ({"pe": [0, 4]}, "file: task 1 is on PE 4, expected 0..3"),
    ({"pe": None}, "pe is null"),
    ({"machine": "node:0"}, "machine: "),
    ({"machine": 5}, "machine is 5, expected a text"),
    ({"machine": "node:2@10 core:2@2"}, "do not match machine_sha256"),
    ({"machine": "/etc/passwd"}, "machine: "),
    ({"slots": []}, "slots is .*expected at least one"),
    ({"slots": ["0", "0", "1", "2"]}, "expected slots in ascending order"),
    ({"slots": ["0-3", "1-3", "2-3", "3"]}, "expected slots in ascending order"),
    ({"slots": ["0", "1", "2", "99"]}, "expected cores of 0..3"),
    ({"slots": ["0", "1", "2", "x"]}, "cores of 0..3 like 0-3,6"),
    ({"slots": ["0", "1", "2", "3" * 5000]}, "cores of 0..3 like 0-3,6"),
    ({"hosts": [1]}, "hosts is .*expected a list of texts"),
    ({"info": []}, "info is .*expected an object"),
    ({"capacity": [1]}, "expected one number for each of 4 slots"),
])  # fmt: skip
def test_json_names_what_is_wrong(change, message):
    record = json.loads(write("json", place("node:2@10 core:2@1", [0, 2])).files[""])
    with pytest.raises(HopbytesError, match=message) as caught:
        read("json", json.dumps({**record, **change}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100000, "null", "9" * 5000, '{"kind": "hopbytes mapping"'])
def test_json_that_is_none_is_refused(text):
    with pytest.raises(FormatError, match="file"):
        read("json", text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("0-3"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
FIELDS = ("version", "n", "k", "machine", "slots", "capacity", "endpoints", "info", "pe", "hosts")


@given(st.sampled_from(FIELDS), values)
@settings(deadline=None)
def test_json_with_any_value_in_a_field_is_read_or_refused(field, value):
    record = json.loads(write("json", place("node:2@10 core:2@1", [0, 2])).files[""])
    record[field] = value
    said = ""
    try:
        assert read("json", json.dumps(record)).n == 2
    except HopbytesError as error:
        said = str(error)
    assert "\n" not in said


def test_json_missing_fields_are_named():
    record = json.loads(write("json", place("core:2", [0, 1])).files[""])
    for field in ("machine", "slots", "pe", "n", "k", "machine_sha256", "info", "hosts"):
        short = {key: value for key, value in record.items() if key != field}
        with pytest.raises(FormatError, match=f"^file: {field} is missing"):
            read("json", json.dumps(short))


# OpenFOAM: lists of labels, as files of decomposePar, and meshes by owner and neighbour.


HEADER = """/*--------------*- C++ -*----------------*\\
| written by (1 2 3) nobody { x }  |
\\*---------------------------------------*/
FoamFile
{
    version     2.0;
    format      ascii;
    class       labelList;
    note        "nCells:4";
    location    "constant";
    object      %s;
}
// * * * * * //

"""
LIST = HEADER % "cellDecomposition"
#: A row of four cells, three faces inside, and two of the boundary.
OWNER = HEADER % "owner" + "5(0 1 2\n0\n3)\n"
NEIGHBOUR = HEADER % "neighbour" + "3\n(\n1\n2\n3\n)\n\n// ** //\n"


@pytest.mark.parametrize("text", ["4(0 1 1 3)", "4\n(\n0\n1\n1\n3\n)\n// end\n", "(0 1 /* two */ 1 3)"])
def test_forms(text):
    assert read("openfoam", LIST + text).tolist() == [0, 1, 1, 3]
    assert read("openfoam", LIST + "3{2}").tolist() == [2, 2, 2]
    assert read("openfoam", LIST + "0()").tolist() == []


@pytest.mark.parametrize(("text", "facts"), [
    ("4(0 1 1 3)", ("file:1", "FoamFile")),
    (LIST.replace("labelList", "volScalarField") + "4(0 1 1 3)", ("volScalarField",)),
    (LIST.replace("ascii", "binary") + "4(0 1 1 3)", ("binary", "foamFormatConvert")),
    (LIST + "4\n(\n0\n1\nx\n3\n)", ("file:19", "x")),
    (LIST + "4\n(\n0\n1\n-1\n3\n)", ("file:19", "-1")),
    (LIST + "5(0 1 1 3)", ("file:15", "4 labels", "5")),
    (LIST + "{3}", ("no list",)),
    (LIST + "4(0 1 1 3", ("no list",)),
    (LIST + "9999999999{1}", ("9999999999",)),
])  # fmt: skip
def test_damaged(text, facts):
    with pytest.raises(FormatError, match=mentions(*facts)):
        read("openfoam", text)


def test_what_does_not_fit():
    where = hb.allocate("core:3")
    with pytest.raises(FormatError, match=mentions("cell 3", "processor 3", "0..2")):
        read("openfoam", LIST + "4(0 1 1 3)", where=where)
    with pytest.raises(FormatError, match=mentions("4 cells", "5")):
        read("openfoam", LIST + "4(0 1 1 2)", where=where, n=5)


@pytest.mark.parametrize("name", ["owner", "neighbour", "owner.gz"])
def test_a_mesh(tmp_path, name):
    import gzip

    for each, text in (("owner", OWNER), ("neighbour", NEIGHBOUR)):
        if name.endswith(".gz"):
            (tmp_path / f"{each}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (tmp_path / each).write_text(text)
    graph = hb.read(tmp_path / name)
    assert (graph.n, graph.undirected, graph.meta["format"]) == (4, True, "polymesh")
    assert graph.to_scipy().toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]


def test_a_damaged_mesh(tmp_path):
    (tmp_path / "owner").write_text(OWNER)
    with pytest.raises(FormatError, match="neighbour"):
        hb.read(tmp_path / "owner")
    (tmp_path / "neighbour").write_text(HEADER % "neighbour" + "6(1 2 3 1 1 1)")
    with pytest.raises(FormatError, match=mentions("6 faces", "5")):
        hb.read(tmp_path / "owner")
    (tmp_path / "neighbour").write_text(HEADER % "neighbour" + "1(2000000000)")
    with pytest.raises(FormatError, match=mentions("cell 2000000000", "5 faces")):
        hb.read(tmp_path / "owner")


MESH = """FoamFile { version 2.0; format ascii; class dictionary; object blockMeshDict; }
vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 1) (1 0 1) (1 1 1) (0 1 1));
blocks (hex (0 1 2 3 4 5 6 7) (6 6 2) simpleGrading (1 1 1));
boundary (walls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0) (3 7 6 2) (0 3 2 1) (4 5 6 7)); });
"""
FILES = {
    "controlDict": "application x; startFrom startTime; startTime 0; stopAt endTime; endTime 1; deltaT 1; "
    "writeControl timeStep; writeInterval 1;",
    "fvSchemes": "ddtSchemes {} gradSchemes {} divSchemes {} laplacianSchemes {} interpolationSchemes {} "
    "snGradSchemes {}",
    "fvSolution": "",
    "decomposeParDict": 'numberOfSubdomains 8; method manual; manualCoeffs { dataFile "cells"; }',
}


@pytest.mark.launcher
@pytest.mark.skipif(shutil.which("decomposePar") is None, reason="OpenFOAM is not installed")
def test_decomposepar_does_what_the_file_says(tmp_path):
    (tmp_path / "system").mkdir()
    (tmp_path / "constant").mkdir()
    (tmp_path / "system/blockMeshDict").write_text(MESH)
    for name, text in FILES.items():
        head = f"FoamFile {{ version 2.0; format ascii; class dictionary; object {name}; }}\n"
        (tmp_path / "system" / name).write_text(head + text)
    usual = Path("/usr/share/openfoam")
    environment = {**os.environ} | ({"WM_PROJECT_DIR": str(usual)} if usual.exists() else {})

    def foam(*command):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)

    foam("blockMesh")
    graph = hb.read(tmp_path / "constant/polyMesh/owner")
    assert (graph.n, graph.m) == (72, 2 * (5 * 6 * 2 * 2 + 36))
    mapping = hb.map_tasks(graph, "node:2@10 core:4@1")
    hb.write(mapping, tmp_path / "constant/cells", "openfoam")
    foam("decomposePar", "-cellDist")
    again = hb.read_mapping(tmp_path / "constant/cellDecomposition", mapping.where, n=72)
    assert np.array_equal(again.pe, mapping.pe)
    for processor in range(8):
        held = tmp_path / f"processor{processor}/constant/polyMesh/cellProcAddressing"
        assert read("openfoam", held.read_text()).tolist() == np.flatnonzero(mapping.pe == processor).tolist()


@pytest.mark.parametrize("name", ["part", "part.txt", "part.64"])
def test_a_negative_number_is_named_with_its_line(tmp_path, name):
    path = tmp_path / name
    path.write_text("0\n1\n-1\n2\n")
    with pytest.raises(FormatError, match=mentions(f"{name}:3:", "-1")):
        hb.read_mapping(path, "core:4")
