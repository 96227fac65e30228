"""Verbs that start programs or write for launchers, with a stand-in for mpirun that tells what it was given.

``hopbytes.launch.launch`` and ``hopbytes.launch.variables`` are what they call.
"""

from __future__ import annotations

import json

import pytest

import hopbytes as hb
from helpers.paths import executable

#: It prints what each rank of a probe would say, or what a replay would, else its own words.
MPIRUN = """#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) 5.0.1"; exit; }
case "$*" in
  *hopbytes-rank*) cat places ;;
  *placement.replay*|*replay_program*)
    echo hopbytes-replay-under-way; echo 'hopbytes-replay {"seconds": [0.5]}' ;;
  *) echo "started $*" ;;
esac
[ -e code ] && exit "$(cat code)"
exit 0
"""
MPICC = "#!/bin/sh\nfor last; do :; done\necho > \"$last\"; chmod +x \"$last\"\n"
SEEN = "hopbytes-rank {} {} {} - .\n"
PATTERN = "stencil:2x2:bytes=1000"
HERE = ("--on", "node:2@10 core:2@1", "--hosts", "a,b")


@pytest.fixture
def launch(tmp_path, monkeypatch, hopbytes):
    """Run a verb where mpirun is the stand-in and ranks 0 to 3 run where `places` says."""
    (tmp_path / "bin").mkdir()
    executable(tmp_path / "bin" / "mpirun", MPIRUN)
    executable(tmp_path / "bin" / "mpicc", MPICC)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)

    def run(*words, places=((0, "a", 0), (1, "a", 1), (2, "b", 0), (3, "b", 1)), code=0):
        (tmp_path / "places").write_text("".join(SEEN.format(*place) for place in places))
        (tmp_path / "code").write_text(f"{code}")
        done = hopbytes(*words)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def stored(launch):
    """The rank of each slot in order, as a stored mapping."""
    assert launch("map", PATTERN, *HERE, "--mapper", "identity", "-q", "-o", "m.json")[0] == 0
    return "m.json"


def test_a_run_is_checked_started_and_told(launch, tmp_path):
    typed = ("run", "--pattern", PATTERN, *HERE, "--mapper", "identity")
    after = ("--", "mpirun", "-x", "A", "./app", "y")
    code, out, err = launch(*typed, *after)
    assert (code, out.split()[0], out.split()[-4:]) == (0, "started", ["-x", "A", "./app", "y"])
    assert next(line for line in err.splitlines() if line.startswith("launch: ")).endswith(" -x A ./app y")
    assert "J " in err
    assert not list(tmp_path.glob("*.hosts"))
    assert launch(*typed, "-q", *after)[2] == ""
    assert launch(*typed, "-q", *after, code=7)[0] == 7
    code, out, err = launch(*typed, "--dry-run", *after)
    assert (code, out) == (0, "")
    assert "launch: mpirun --hostfile" in err or "launch: mpirun -n 4" in err
    code, out, err = launch(*typed, "--check", *after)
    assert code == 0
    assert "verified: 4 ranks are where they belong; compared: hosts, CPUs" in err
    elsewhere = ((0, "b", 0), (1, "a", 1), (2, "a", 0), (3, "b", 1))
    code, out, err = launch(*typed, "--check", *after, places=elsewhere)
    assert (code, out) == (1, "")
    assert "rank 0 is on b, expected a (2 of 4 ranks are not where they belong" in err
    assert "nothing was started" in err
    assert launch(*typed, "-q", "-o", "mine", *after)[0] == 0
    assert (tmp_path / "mine").exists()
    for wrong, said in (((*typed, "--", "mpirun"), "the program to launch is missing"),
                        (("run", *HERE, *after), "--pattern is missing"),
                        ((*typed, "--", "mpirun", "-n", "5", "./a"), "starts 5 ranks, expected 4"),
                        ((*typed, "--inside", "--check", *after), "--inside changes no option"),
                        (("run", "--inside", "--pattern", "-", *after), "--inside reads the")):  # fmt: skip
        code, out, err = launch(*wrong)
        assert (code > 0, out) == (True, "")
        assert said in err


def test_a_launch_is_verified(launch, stored):
    code, out, err = launch("verify", stored, "--", "mpirun")
    assert (code, out) == (0, "")
    assert "verified: 4 ranks are where they belong" in err
    assert launch("verify", stored, "-q", "--", "mpirun")[1:] == ("", "")
    moved = ((0, "a", 0), (1, "a", 1), (2, "a", 0), (3, "b", 0))
    code, out, err = launch("verify", stored, "--", "mpirun", places=moved)
    assert (code, out.splitlines()[0]) == (1, "rank 2 is on a, expected b")
    code, out, _ = launch("verify", stored, "--json", "--", "mpirun", places=moved, code=5)
    record = json.loads(out)
    assert (code, record["code"], record["ranks"]) == (5, 5, 4)
    assert record["wrong"][0] == "rank 2 is on a, expected b"
    code, out, err = launch("verify", stored, "--as-typed", "--json", "--", "mpirun", "-n", "4", "./app")
    assert (code, json.loads(out)["command"].split()[:3]) == (0, ["mpirun", "-n", "4"])
    code, out, err = launch("verify", stored, "--", "mpirun", places=(), code=3)
    assert (code, out) == (1, "")
    assert "mpirun ended with code 3 before any rank answered" in err
    assert launch("verify", "--json", "--", "mpirun")[0] == 2


def test_a_mapping_is_what_a_launch_makes(launch, tmp_path):
    code, out, err = launch("verify", *HERE, "-o", "found.json", "--", "mpirun", "-n", "4", "./app",
                            places=((0, "b", 1), (1, "a", "0-1"), (2, "b", 0), (3, "a", 0)))  # fmt: skip
    assert (code, out) == (0, "")
    assert "1 of 4 ranks may run on several slots" in err
    assert hb.read(tmp_path / "found.json").pe.tolist() == [3, 1, 2, 0]
    assert launch("verify", *HERE, "-q", "-o", "found.json", "--", "mpirun", "-n", "4", "./app")[2] == ""
    assert launch("verify", *HERE, "-o", "x.json", "--", "mpirun", "./app", code=4)[0] == 1


def test_a_benchmark_in_both_orders(launch, stored):
    words = ("bench-pattern", PATTERN, stored, "--rounds", "1")
    code, out, _ = launch(*words, "--", "mpirun")
    assert (code, "takes 1.00 of the time of the launcher's own order: 0.0% less" in out) == (0, True)
    assert json.loads(launch(*words, "--json", "--", "mpirun")[1])["rounds"] == 1
    alone = launch("bench-pattern", PATTERN, "-", "--rounds", "1", "--json", "--", "mpirun", "-n", "4")
    assert json.loads(alone[1])["rounds"] == 1


def test_variables_of_a_launcher(launch, stored, tmp_path):
    code, out, _ = launch("env", stored, "--format", "openmpi")
    assert code == 0
    assert all(line.startswith(("export ", "unset ", "#")) for line in out.splitlines())
    assert (tmp_path / "hopbytes.openmpi").exists()
    words = ("env", PATTERN, *HERE, "--format", "openmpi")
    code, mapped, err = launch(*words, "--preset", "fast", "-o", "mine")
    assert code == 0
    assert mapped == out.replace("hopbytes.openmpi", "mine")
    assert "J " in err
    code, in_words, err = launch(*words, "--no-file", "-q")
    assert (code, err) == (0, "")
    assert "file" not in in_words
    assert launch("env", stored, "--no-file", "--format", "openmpi")[0] == 2


def test_stored_mappings_and_patterns_are_written_again(launch, stored, tmp_path):
    code, out, err = launch("write", stored, "--format", "openmpi", "-o", "again")
    assert (code, out) == (0, "")
    assert "launch: mpirun" in err
    assert (tmp_path / "again").read_text().count("rank ") == 4
    assert launch("write", stored, "--format", "openmpi", "-o", "again", "-q")[2] == ""
    assert launch("write", "again", *HERE, "--mapping-format", "openmpi", "-o", "same.json", "-q")[0] == 0
    assert hb.read(tmp_path / "same.json").pe.tolist() == [0, 1, 2, 3]
    (tmp_path / "blocks").write_text("0\n1\n0\n1\n")
    code, out, _ = launch("write", PATTERN, "--blocks", "blocks", "--format", "csv", "-q")
    assert code == 0
    quotient = hb.read(PATTERN).quotient([0, 1, 0, 1])
    (tmp_path / "written.csv").write_text(out)
    assert hb.read(tmp_path / "written.csv").total_volume == quotient.total_volume
    code, out, err = launch("write", PATTERN, "--blocks", stored, "--format", "csv", "-q")
    assert code == 0
    (tmp_path / "blocks").write_text("0\n1\n0\n-1\n")
    code, out, err = launch("write", PATTERN, "--blocks", "blocks", "--format", "csv")
    assert (code, "blocks" in err) == (1, True)
