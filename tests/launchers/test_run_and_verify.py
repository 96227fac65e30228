"""Map, launch and verify with real launchers on this computer: Open MPI and Hydra."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.paths import executable
from helpers.real_mpi import ENVIRONMENT as AS_ROOT
from helpers.real_mpi import OF_THIS_ENVIRONMENT, needs_two_cpus

pytestmark = [pytest.mark.launcher, needs_two_cpus]
ENVIRONMENT = {**AS_ROOT, "PATH": OF_THIS_ENVIRONMENT + os.pathsep + os.environ["PATH"]}
APP = """\
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
[ "$rank" = 0 ] && { read line; echo "read $line"; }
echo "rank $rank $(grep Cpus_allowed_list /proc/self/status) $*"
"""


def launchers():
    found = []
    for name in ("mpirun", "mpiexec.hydra"):
        path = shutil.which(name, path=ENVIRONMENT["PATH"])
        found.append(pytest.param(path, id=name, marks=pytest.mark.skipif(path is None, reason=f"no {name}")))
    return found


def hopbytes(folder, *words, **options):
    return subprocess.run(
        [sys.executable, "-m", "hopbytes", *words], cwd=folder, env=ENVIRONMENT, capture_output=True,
        text=True, timeout=120, **options,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ring.edges").write_text("0 1 5\n1 0 5\n")
    executable(tmp_path / "app", APP)
    (tmp_path / "swapped.map").write_text("1\n0\n")
    return tmp_path


@pytest.mark.parametrize("launcher", launchers())
@pytest.mark.parametrize("listed", [False, True])
def test_several_programs_run_where_they_were_mapped(folder, launcher, listed):
    (folder / "both.programs").write_text(
        "program alltoall:1 ./app 'first one'\nprogram alltoall:1 ./app second\nbetween ring.edges\n"
    )
    programs = [] if listed else ["-n", "1", "./app", "first one", ":", "-n", "1", "./app", "second"]
    pattern = "both.programs" if listed else "ring.edges"
    consent = ["--programs"] if listed else []
    run = ["run", "--check", *consent, "--pattern", pattern, "--on", "core:2", "--", launcher]
    done = hopbytes(folder, *run, *programs, input="hello\n")
    assert done.returncode == 0, done.stderr
    found = re.findall(r"rank (\d) Cpus_allowed_list:\s+(\S+) (.*)", done.stdout)
    assert {(rank, words) for rank, _, words in found} == {("0", "first one"), ("1", "second")}
    assert sorted(cpus for _, cpus, _ in found) == ["0", "1"]


def test_programs_of_open_mpi_follow_a_mapping_that_crosses_them(folder):
    launcher = shutil.which("mpirun", path=ENVIRONMENT["PATH"])
    if launcher is None or "Open MPI" not in subprocess.run(
        [launcher, "--version"], capture_output=True, text=True, env=ENVIRONMENT
    ).stdout:
        pytest.skip("no Open MPI")
    verify = ["verify", "swapped.map", "--on", "core:2", "--", launcher]
    done = hopbytes(folder, *verify, "-n", "1", "./app", ":", "-n", "1", "./app")
    assert done.returncode == 0, done.stderr
    assert "2 ranks are where they belong" in done.stdout + done.stderr


@pytest.mark.parametrize("launcher", launchers())
def test_a_program_runs_where_it_was_mapped(folder, launcher):
    run = ["run", "--pattern", "ring.edges", "--on", "core:2", "--", launcher, "-n", "2"]
    done = hopbytes(folder, *run, "./app", "two words", input="hello\n")
    assert done.returncode == 0, done.stderr
    assert "read hello" in done.stdout
    cpus = dict(re.findall(r"rank (\d) Cpus_allowed_list:\s+(\S+) two words", done.stdout))
    assert sorted(cpus.values()) == ["0", "1"]
    assert "launch: " in done.stderr
    assert not list(folder.glob(".hopbytes*"))
    assert hopbytes(folder, *run, "sh", "-c", "exit 3").returncode == 3


@pytest.mark.parametrize("launcher", launchers())
def test_a_launch_is_verified_or_not(folder, launcher):
    verify = ["verify", "swapped.map", "--on", "core:2", "--json"]
    good = hopbytes(folder, *verify, "--", launcher, "-n", "2")
    assert (good.returncode, json.loads(good.stdout)["wrong"]) == (0, []), good.stderr
    unbound = ["--bind-to", "none"] if launcher.endswith("mpirun") else ["-bind-to", "none"]
    bad = hopbytes(folder, *verify, "--as-typed", "--", launcher, "-n", "2", *unbound)
    assert bad.returncode == 1
    assert json.loads(bad.stdout)["wrong"] == ["rank 1 shares CPU 0 with rank 0, expected CPUs of its own"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-n", "3", "./app"], 1, "starts 3 ranks, expected 2"),
        (["-n", "2", "--map-by", "core", "./app"], 1, "--map-by also says where ranks go"),
        (["-n", "2"], 2, "the program to launch is missing"),
    ],
)
def test_nothing_starts_where_the_command_does_not_fit(folder, words, code, message):
    launcher = shutil.which("mpirun", path=ENVIRONMENT["PATH"])
    if launcher is None:
        pytest.skip("no mpirun")
    done = hopbytes(folder, "run", "--pattern", "ring.edges", "--on", "core:2", "--", launcher, *words)
    assert done.returncode == code
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "rank" not in done.stdout
    assert not list(folder.glob(".hopbytes*"))


ODD_WORDS = (
    "a b", "$X", "`id`", "$(id)", "a'b", 'a"b', ";", "&&", "*", "-n", "--", "", "a\nb", "äß", "\\", "#", "x=y"
)


@pytest.mark.parametrize("launcher", launchers())
def test_words_of_a_program_arrive_as_they_were_typed_in_any_folder(tmp_path, launcher):
    """Through the launcher alone, and through the script that binds, in a folder with an odd name."""
    folder = tmp_path / "odd: 'dir'; $x"
    folder.mkdir()
    (folder / "ring.edges").write_text("0 1 5\n1 0 5\n")
    show = "import json, os, sys; json.dump(sys.argv[1:], open(f'{os.getpid()}.seen', 'w'))"
    program = (sys.executable, "-c", show, *ODD_WORDS)
    for machine in ("core:2", "gpu:2"):
        words = ("run", "--pattern", "ring.edges", "--on", machine, "--", launcher, "-n", "2", *program)
        done = hopbytes(folder, *words)
        assert done.returncode == 0, done.stderr
        seen = list(folder.glob("*.seen"))
        assert [json.loads(path.read_text()) for path in seen] == [list(ODD_WORDS)] * 2
        for path in seen:
            path.unlink()
        assert not list(folder.glob(".hopbytes*"))


def test_where_a_launcher_puts_ranks(folder):
    if shutil.which("mpiexec.hydra") is None:
        pytest.skip("no mpiexec.hydra")
    launch = ["mpiexec.hydra", "-n", "2", "-bind-to", "user:1,0"]
    done = hopbytes(folder, "verify", "--on", "core:2", "--", *launch)
    assert done.stdout == "1\n0\n", done.stderr
