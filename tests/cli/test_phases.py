"""Phases, blocks and bounds on the command line."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.cli.options import PhaseOptions

MACHINE = ("--on", "node:4@10 core:4@1")


@pytest.fixture
def phases(tmp_path, monkeypatch):
    """Two files with the patterns of two phases, and one with both inside."""
    monkeypatch.chdir(tmp_path)
    parts = [hb.read("stencil:4x4"), hb.read("transpose:4x4")]
    for name, graph in zip("ab", parts, strict=True):
        hb.write(graph, f"{name}.pattern")
    from hopbytes.model.phases import Phases

    hb.write(Phases.of(parts).combined(), "both.pattern")
    return parts


def test_files_of_phases_are_mapped_to_the_exact_weighted_sum(phases, hopbytes):
    done = hopbytes("map", "a.pattern", "b.pattern", *MACHINE, "--phase-weights", "3,1", "--json")
    found = json.loads(done.stdout)
    whole = hb.CommGraph.of(3 * phases[0].to_scipy() + phases[1].to_scipy())
    assert found["comm_cost"] == hb.map_tasks(whole, MACHINE[1]).info["comm_cost"]
    assert [(p["name"], p["weight"]) for p in found["phases"]] == [("a.pattern", 3.0), ("b.pattern", 1.0)]
    assert sum(p["weight"] * p["comm_cost"] for p in found["phases"]) == found["comm_cost"]
    inside = hopbytes("map", "both.pattern", *MACHINE, "--phase-weights", "3,1", "--json")
    assert json.loads(inside.stdout)["comm_cost"] == found["comm_cost"]
    said = hopbytes("map", "a.pattern", "b.pattern", *MACHINE, "--phase-goal", "max", "-o", "m.json").stderr
    assert "b.pattern, weight 1: J " in said
    assert hb.read("m.json").info["largest_phase"] > 0


def test_a_file_keeps_its_phases(phases, hopbytes):
    whole = hb.read("both.pattern")
    assert [graph.name for graph in whole.phases] == [graph.name for graph in phases]
    for kept, graph in zip(whole.phases, phases, strict=True):
        assert (kept.to_scipy() != graph.to_scipy()).nnz == 0
        assert (kept.to_scipy("messages") != graph.to_scipy("messages")).nnz == 0
    assert "the phases are lost" in hopbytes("write", "both.pattern", "-o", "both.csv").stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("a.pattern", "b.pattern", "--phase-weights", "3,x"), "phase weight 'x'"),
        (("a.pattern", "b.pattern", "--phase-weights", "3"), "1 phase weights for 2 phases"),
        (("a.pattern", "stencil:3x3", "--phase-goal", "max"), "stencil:3x3 has 9 tasks, but a.pattern has"),
        (("a.pattern", "b.pattern", "--phase-weights", f"{2**62},1"), "divide the phase weights by"),
        (("a.pattern", "nothing.pattern", "--phase-goal", "sum"), "nothing.pattern"),
    ],
)
def test_wrong_phases_are_one_line_and_nothing_is_written(phases, hopbytes, tmp_path, words, why):
    before = sorted(tmp_path.iterdir())
    done = hopbytes("map", *words, *MACHINE, "-o", "m.json", code=1)
    assert why in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_several_patterns_must_be_said_to_be_phases(phases, hopbytes):
    done = hopbytes("map", "a.pattern", "b.pattern", *MACHINE)
    assert (done.returncode, "unexpected extra argument (b.pattern)" in done.stderr) == (2, True)
    assert hopbytes("map", "a.pattern", "b.pattern", *MACHINE, "--phase-goal", "least").returncode == 2
    stream = hopbytes("map", "a.pattern", "b.pattern", *MACHINE, "--stream", "--phase-weights", "1,1")
    assert (stream.returncode, "--stream and --phase-weights exclude" in stream.stderr) == (2, True)
    block = hopbytes("map", "a.pattern", "b.pattern", *MACHINE, "--phase-goal", "max", "--block", "2")
    assert (block.returncode, "--phase-goal max and" in block.stderr) == (2, True)


def test_write_blocks(phases, hopbytes, tmp_path):
    block = np.arange(16) // 4
    (tmp_path / "part.txt").write_text("".join(f"{b}\n" for b in block))
    assert hopbytes("write", "a.pattern", "--blocks", "part.txt", "-o", "blocks.csv").returncode == 0
    rows = np.loadtxt("blocks.csv", delimiter=",", dtype=np.int64)
    member = np.eye(4, dtype=np.int64)[block]
    expected = member.T @ phases[0].to_scipy().toarray() @ member
    np.fill_diagonal(expected, 0)
    assert np.array_equal(rows, expected)
    hopbytes("map", "a.pattern", "--on", "node:4 core:8", "-o", "m.json")
    assert hopbytes("write", "a.pattern", "--blocks", "m.json", "-o", "pes.graph").returncode == 0
    assert hb.read("pes.graph").n == 32
    for text, why in (("0\n1\n", "part.txt: 2 lines"), ("0\n" * 15 + "99999999\n", "block 99999999")):
        (tmp_path / "part.txt").write_text(text)
        done = hopbytes("write", "a.pattern", "--blocks", "part.txt", "-o", "new.csv")
        assert (done.returncode, why in done.stderr) == (1, True)
        assert not (tmp_path / "new.csv").exists()
    hb.write(hb.read("m.json"), "ranks", "openmpi", hosts=["a", "b", "c", "d"])
    words = ("--on", "node:4 core:8", "--hosts", "a,b,c,d", "--mapping-format", "openmpi")
    assert hopbytes("write", "a.pattern", "--blocks", "ranks", *words, "-o", "same.graph").returncode == 0
    same, pes = (hb.read(name).to_scipy().toarray() for name in ("same.graph", "pes.graph"))
    assert np.array_equal(same, pes)
    assert hopbytes("write", "m.json", "--blocks", "part.txt", "-o", "new.csv").returncode == 1


def test_the_bound_of_sharedmap(hopbytes):
    """96 tasks on 32 PEs at 3 %: 3.09 is rounded to 3, or to 4."""
    words = ("map", "stencil:12x8", "--on", "node:4@10 core:8@1", "--partition", "--json")
    usual, up = (json.loads(hopbytes(*words, *more).stdout) for more in ((), ("--bound", "ceil")))
    assert (usual["bound_asked"], up["bound_asked"]) == (3, 4)
    assert up["bound_kept"] <= 4
    assert up["comm_cost"] <= usual["comm_cost"]
    done = hopbytes(*words, "--bound", "up")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_damaged_phases_inside_a_file_are_refused(phases, hopbytes, tmp_path):
    import zipfile

    with zipfile.ZipFile("both.pattern") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    hb.write(hb.read("stencil:3x3"), "small.pattern")
    for content in (b"nonsense", (tmp_path / "small.pattern").read_bytes(), members["phase1.pattern"][:-30]):
        with zipfile.ZipFile("bad.pattern", "w") as archive:
            for name, member in members.items():
                archive.writestr(name, content if name == "phase1.pattern" else member)
        with pytest.raises(hb.FormatError, match=r"bad\.pattern"):
            hb.read("bad.pattern")


def test_what_a_reader_says_of_a_file_with_phases_is_kept(phases):
    told = hb.read("both.pattern")
    told = dataclasses.replace(told, meta={**told.meta, "notices": ["half of it is missing"]})
    whole, found = PhaseOptions().read(["both.pattern"], SimpleNamespace(read=lambda *_: told), None)
    assert len(found.graphs) == 2
    assert "half of it is missing" in whole.meta["notices"]
