"""The wrong file, a file of another kind than it seems, and files that hopbytes wrote itself."""

import json
import os
import shutil

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import assert_refused
from helpers.paths import EXAMPLES
from hopbytes.errors import FormatError
from hopbytes.text.replace_file import WRITTEN

EXAMPLE = EXAMPLES / "lammps_lj_64.csv"
ON = ("--on", "node:8 core:8")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("0,1,500\n1,2,500\n2,0,700\n", "from, to, bytes"),
        ("0,1\n1,2\n", "from, to"),
        ("0,1,5,1\n1,2,5,1\n2,3,5,1\n3,0,5,1\n", "from, to, bytes, messages"),
    ],
)
def test_a_csv_that_may_be_an_edge_list_is_refused_with_both_ways_out(hopbytes, tmp_path, text, columns):
    (tmp_path / "a.csv").write_text(text)
    n = text.count("\n")
    done = hopbytes("map", "a.csv", *ON)
    assert_refused(done, "a.csv", f"{n}", f"({columns})", "--input-format csv", "--input-format edges")
    arcs = []
    for form in ("csv", "edges"):
        done = hopbytes("show", "a.csv", "--input-format", form, "--json", code=0)
        arcs.append(json.loads(done.stdout)["arcs"])
    assert arcs[1] == n != arcs[0]
    with pytest.raises(FormatError, match=r"a matrix of . tasks or an edge list"):
        hb.read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "text",
    [
        "0,5,5\n5,0,5\n5,5,0\n", "0,1\n1,0\n", "70000,0,1\n0,70000,1\n1,1,70000\n",
        "0.5,1,2\n1,0.5,2\n1,1,2\n",
        "# written by hopbytes\n1,2,3\n4,5,6\n7,8,9\n", "5\n",
    ],
)  # fmt: skip
def test_small_matrices_are_matrices(tmp_path, text):
    path = tmp_path / "m.csv"
    path.write_text(text)
    assert hb.read(path).n == len([line for line in text.splitlines() if line[0] != "#"])


def test_a_header_is_told_from_a_wrong_number(hopbytes, tmp_path):
    (tmp_path / "h.csv").write_text("src,dst,bytes\n0,1,500\n1,2,500\n")
    (tmp_path / "w.csv").write_text("0,1,x\n0,1,500\n1,2,500\n")
    assert_refused(hopbytes("map", "h.csv", *ON), "h.csv:1:", "'src'", "header", "--input-format edges")
    assert "header" not in hopbytes("map", "w.csv", *ON).stderr


@pytest.mark.parametrize(
    ("counts", "volumes"),
    [("lj.count.csv", "lj.csv"), ("lj_count.csv", "lj_size.csv"), ("lj.count.csv", "lj.size.csv")],
)
def test_message_counts_are_not_taken_for_bytes(hopbytes, tmp_path, counts, volumes):
    shutil.copy(EXAMPLE, tmp_path / volumes)
    shutil.copy(EXAMPLE.with_suffix(".count.csv"), tmp_path / counts)
    done = hopbytes("map", counts, *ON)
    assert_refused(done, f"{counts}:", volumes, "--input-format csv")
    assert hopbytes("map", volumes, *ON).returncode == 0
    (tmp_path / volumes).unlink()
    for more in ((), ("--input-format", "csv")):
        done = hopbytes("map", counts, *ON, *more, code=0)
        notice = "the file's name indicates message counts, but its numbers are read as bytes\n"
        assert done.stderr.startswith(notice)


@pytest.mark.parametrize(
    ("name", "form"),
    [("mapping.txt", "plain"), ("m.part", "plain"), ("m.json", "json"), ("rankfile", "openmpi"),
     ("hosts", "hydra"), ("r", "newrank"), ("m.txt.gz", "plain"), ("s", "slurm"), ("t", "torchrun")],
)  # fmt: skip
def test_what_hopbytes_wrote_may_be_written_again(hopbytes, tmp_path, name, form):
    assert hopbytes("map", EXAMPLE, *ON, "-o", "m.json").returncode == 0
    for _ in range(2):
        hopbytes("map", EXAMPLE, *ON, "-o", name, "--format", form, "--for", form, code=0)
    for _ in range(2):
        hopbytes("write", "m.json", "-o", f"again.{name}", "--format", form, code=0)
    if form == "plain":
        found = hb.read(tmp_path / name, holds="mapping")
        assert found.tolist() == hb.read(tmp_path / "m.json").pe.tolist()
        assert np.loadtxt(tmp_path / name, dtype=int).tolist() == found.tolist()


def test_nothing_but_numbers_goes_down_a_pipe(hopbytes):
    done = hopbytes("map", "stencil:4x4", "--on", "node:2 core:8", "-o", "-", "--format", "plain")
    assert sorted(map(int, done.stdout.split())) == list(range(16))
    done = hopbytes("write", "stencil:2x2", "-o", "-", "--format", "csv")
    assert [line.count(",") for line in done.stdout.splitlines()] == [3] * 4


def test_foreign_files_stay(hopbytes, tmp_path):
    (tmp_path / "mine.txt").write_text("0\n1\n2\n")
    done = hopbytes("map", EXAMPLE, *ON, "-o", "mine.txt")
    assert_refused(done, "mine.txt", "'written by hopbytes'", "--force")
    assert (tmp_path / "mine.txt").read_text() == "0\n1\n2\n"
    assert hopbytes("map", EXAMPLE, *ON, "-o", "mine.txt", "--force").returncode == 0
    assert (tmp_path / "mine.txt").read_text().splitlines()[0].isdigit()


def test_files_without_room_for_a_mark_are_known_by_an_attribute(hopbytes, tmp_path):
    """A copy has no attribute: it is somebody's file, as is everything where the file system keeps none."""
    for form in ("pbs", "flux", "plain"):
        assert hopbytes("map", EXAMPLE, *ON, "-o", form, "--format", form).returncode == 0
        before = (tmp_path / form).read_bytes()
        assert b"hopbytes" not in before
        if hasattr(os, "getxattr") and WRITTEN in os.listxattr(tmp_path / form):
            assert hopbytes("map", EXAMPLE, *ON, "-o", form, "--format", form).returncode == 0
        (tmp_path / form).unlink()
        (tmp_path / form).write_bytes(before)
        done = hopbytes("map", EXAMPLE, *ON, "-o", form, "--format", form)
        assert_refused(done, form, "--force")
        assert (tmp_path / form).read_bytes() == before
