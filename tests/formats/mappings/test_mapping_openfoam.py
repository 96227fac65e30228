"""OpenFOAM: lists of labels, as files of decomposePar, and meshes by owner and neighbour."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import hopbytes as hb
from helpers.errors import mentions
from helpers.placements import mappings, read, write
from hopbytes.errors import FormatError

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


@given(mappings())
@settings(deadline=None, max_examples=50)
def test_a_mapping_comes_back(mapping):
    text = write("openfoam", mapping).files[""]
    assert np.array_equal(read("openfoam", text), mapping.pe)
    assert np.array_equal(read("openfoam", text, where=mapping.where, n=mapping.n).pe, mapping.pe)


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
