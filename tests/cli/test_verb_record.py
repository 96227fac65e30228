"""What ``record`` and ``probe`` say and write of what was recorded or measured."""

import os

import pytest

import hopbytes as hb
from helpers.paths import executable
from hopbytes.cli.app import answer
from hopbytes.record.session import Recorded

RING = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [100, 200, 300], messages=[1, 2, 3], n=3)


@pytest.fixture
def recorded(tmp_path, tmp_path_factory, monkeypatch):
    """Return what records with a given result; it returns the exit code and what was asked for."""
    programs = tmp_path_factory.mktemp("programs")
    executable(programs / "mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)

    def run(words, graph=RING, code=0, problem=""):
        asked = {}
        monkeypatch.setattr(
            "hopbytes.record.session.record",
            lambda typed, **options: asked.update(options, words=typed) or Recorded(graph, code, problem),
        )
        return answer(["record", *words, "--", "mpirun", "-n", "3", "./app"]), asked

    return run


def test_a_recording_is_written_and_told(recorded, tmp_path, capsys):
    code, asked = recorded(["-o", "ring.csv"])
    assert code == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "recorded: 3 ranks, 3 pairs, 600 bytes in 6 messages: ring.csv" in err
    assert hb.read(tmp_path / "ring.csv").total_volume == 600
    assert asked["words"] == ["mpirun", "-n", "3", "./app"]
    assert (asked["hosts"], asked["waiting"], asked["trace"]) == (True, True, None)
    code, asked = recorded(["-o", "ring.csv", "-q", "--no-hosts", "--trace", "none"], code=5)
    assert (code, asked["hosts"], asked["waiting"], asked["trace"]) == (5, False, False, None)
    assert capsys.readouterr() == ("", "")
    assert not recorded(["-o", "-", "--format", "csv", "-q"])[1]["waiting"]
    assert "300" in capsys.readouterr().out
    (tmp_path / "theirs.csv").write_text("a letter\n")
    assert recorded(["-o", "theirs.csv"]) == (1, {})  # before anything is started
    assert "theirs.csv" in capsys.readouterr().err


@pytest.mark.parametrize(("ended", "code"), [(0, 1), (7, 7)])
def test_without_a_recording_the_problem_is_said(recorded, tmp_path, capsys, ended, code):
    assert recorded(["-o", "ring.csv"], None, ended, "no rank wrote")[0] == code
    assert "no rank wrote" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_machine_is_measured_or_probed(monkeypatch, capsys):
    asked = {}
    for name in ("measure.measure_to_file", "probe.probe_to_file"):
        monkeypatch.setattr(
            f"hopbytes.launch.{name}",
            lambda _, *given, name=name, **more: asked.update(more, name=name, given=given) or "a table",
        )
    measured = ["probe", "--measure", "--on", "core:4", "-o", "x.json"]
    assert answer([*measured, "--", "srun"]) == 0
    assert (asked["name"], asked["given"][1]) == ("measure.measure_to_file", "x.json")
    assert (asked["batches"], asked["time_limit"], asked["keep_distances"]) == (5, 120.0, False)
    assert asked["announce"] is not None
    assert "a table" in capsys.readouterr().err
    options = ["--batches", "9", "--time-limit", "3s", "--keep-distances", "--cc", "cc", "-q"]
    assert answer([*measured, *options, "--", "srun"]) == 0
    assert (asked["batches"], asked["time_limit"], asked["keep_distances"]) == (9, 3.0, True)
    assert (asked["announce"], asked["compiler"]) == (None, "cc")
    assert capsys.readouterr() == ("", "")
    assert answer(["probe", "--", "srun"]) == 0
    assert (asked["name"], asked["given"]) == ("probe.probe_to_file", ("-",))
    for more in (["--on", "core:4"], ["--batches", "9"], ["--keep-distances"], ["--cc", "cc"]):
        assert answer(["probe", *more, "--", "srun"]) == 2
        assert "--measure is missing" in capsys.readouterr().err
