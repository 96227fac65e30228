"""Launchers that no package brings: words taken apart, and a stand-in that does what a guide says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import executable
from helpers.placements import place
from hopbytes.errors import UnsupportedError
from hopbytes.formats.mappings.launchers import usual_order
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.start import checked_command, prepare_start
from hopbytes.record.interposer import handed_on

OPEN_MPI = "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n"
#: mpirun_rsh as section 5.2.1 of the user guide has it: options, NAME=VALUE, the program; hosts by line.
STAND_IN = """#!/bin/sh
while :; do case $1 in
  -np) count=$2; shift 2;;
  -hostfile) hosts=$2; shift 2;;
  -*) shift;;
  *) break;;
esac; done
rank=0
grep -v '^#' "$hosts" | head -n "$count" | while read -r host; do
  MV2_COMM_WORLD_RANK=$rank HOST_OF_RANK=$host env "$@"
  rank=$((rank + 1))
done
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    for name in ("mpirun_rsh", "srun"):
        program = tmp_path / name
        executable(program, STAND_IN)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_variables_of_mpirun_rsh_stand_behind_its_options(path):
    words = ["mpirun_rsh", "-np", "4", "LEVEL=3", "MV2_CPU_MAPPING=3:2", "./app", "-np", "7", "X=1"]
    command = LaunchCommand.parse(words)
    assert command.program == ("./app", "-np", "7", "X=1")
    assert [option.name for option in command.placing()] == ["MV2_CPU_MAPPING"]
    with pytest.raises(UnsupportedError, match=mentions("MV2_CPU_MAPPING=3:2")):
        checked_command(words, 4)
    mapping = place("node:2@10 core:2@1", [3, 2, 0, 1], hosts=("n1", "n2"))
    start = prepare_start(mapping, checked_command(words, 4, replace=True), "x").start
    # One list serves both hosts, after the slots of one changed numbers.
    assert start.text() == "mpirun_rsh -hostfile x -np 4 MV2_CPU_MAPPING=0:1 LEVEL=3 ./app -np 7 X=1"


def test_ranks_get_the_host_and_the_cores_of_their_slots(path):
    mapping = place("node:2@10 core:2@1", [3, 0, 2], hosts=("n1", "n2"))
    executable(path / "app", '#!/bin/sh\necho $MV2_COMM_WORLD_RANK $HOST_OF_RANK $MV2_CPU_MAPPING $LEVEL\n')
    start = prepare_start(mapping, checked_command(["mpirun_rsh", "LEVEL=3", "./app"], 3), "x").start
    done = subprocess.run(start.words, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines] == [["0", "n2"], ["1", "n1"], ["2", "n2"]]
    mapped = [line[2].split(":") for line in lines]
    seen = {"n1": 0, "n2": 0}
    cores = []
    for (_, host, *_), listed in zip(lines, mapped, strict=True):
        cores.append(int(listed[seen[host]]))
        seen[host] += 1
    assert cores in ([1, 0, 0], [0, 0, 1])  # slots of a node may be renumbered, which costs nothing


@pytest.mark.parametrize(("words", "said"), [
    (["srun", "--export=NONE", "./app"], "--export=NONE: the ranks do not get the variables"),
    (["srun", "--export", "A,B", "./app"], "--export A,B: the ranks do not get the variables"),
    (["mpirun_rsh", "-np", "2", "./app"], "exports no variables, expected the option -export-all"),
])  # fmt: skip
def test_words_that_keep_variables_from_ranks_are_refused(path, words, said):
    command = LaunchCommand.parse(words)
    assert handed_on(command, {}) == {}
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        handed_on(command, {"LD_PRELOAD": "x.so"})


@pytest.mark.parametrize("words", [["srun", "--export=ALL,A=1"], ["srun"], ["mpirun_rsh", "-export-all"]])
def test_words_that_hand_everything_on_are_not(path, words):
    assert handed_on(LaunchCommand.parse([*words, "./app"]), {"A": "1"}) == {"A": "1"}


@pytest.mark.parametrize(("before", "after"), [("NONE", "A,B"), ("HOME,X", "HOME,X,A,B"), ("ALL", None)])
def test_what_a_job_exports_is_added_to(path, monkeypatch, before, after):
    monkeypatch.setenv("SLURM_EXPORT_ENV", before)
    found = handed_on(LaunchCommand.parse(["srun", "./app"]), {"A": "1", "B": "2"})
    assert found.get("SLURM_EXPORT_ENV") == after


@pytest.mark.parametrize(("before", "after"), [
    ("", "LD_PRELOAD=/i.so;A=1"), ("B;C=2", "B;C=2;LD_PRELOAD=/i.so;A=1"),
    ("LD_PRELOAD=/u.so;B", "LD_PRELOAD=/i.so:/u.so;B;A=1"), ("LD_PRELOAD;A=0", "LD_PRELOAD=/i.so;A=1"),
])  # fmt: skip
def test_what_open_mpi_hands_on_is_added_to(path, monkeypatch, before, after):
    """Of two settings of LD_PRELOAD it would take the last."""
    executable(path / "mpirun", OPEN_MPI)
    monkeypatch.setenv("OMPI_MCA_mca_base_env_list", before)
    found = handed_on(LaunchCommand.parse(["mpirun", "./app"]), {"LD_PRELOAD": "/i.so", "A": "1"})
    assert found == {"OMPI_MCA_mca_base_env_list": after}


# The order in which launchers place ranks by default.


@pytest.mark.parametrize(("distribution", "order"), [
    (None, "block"), ("block", "block"), ("cyclic", "cyclic"), ("Cyclic:block:cyclic", "cyclic"),
    ("cyclic,NoPack", "cyclic"), ("plane=4", "plane=4"), ("plane", "plane=2"), ("plane=0", "block"),
    ("arbitrary", "block"), ("*:cyclic", "block"), ("block:cyclic,Pack", "block"),
])  # fmt: skip
def test_srun_takes_the_distribution_of_its_environment(monkeypatch, distribution, order):
    """srun(1): SLURM_DISTRIBUTION is the same as -m; sbatch sets it from its own option."""
    where = hb.allocate("node:2 core:4")
    monkeypatch.setenv("SLURM_DIST_PLANESIZE", "2")
    if distribution is None:
        monkeypatch.delenv("SLURM_DISTRIBUTION", raising=False)
    else:
        monkeypatch.setenv("SLURM_DISTRIBUTION", distribution)
    assert usual_order("slurm", where) == order
    assert usual_order("cray", where) == order
    assert (usual_order("openmpi", where), usual_order("flux", where)) == ("fill", "block")
    assert usual_order(None, where) == "fill"
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    assert usual_order(None, hb.allocate("job")) == order


# The probe as a process: how its launcher is ended.


def test_a_launcher_that_is_interrupted_is_ended_and_not_killed(tmp_path, monkeypatch):
    """A launcher that is killed at once leaves its daemon behind, as prterun once did."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "slow"
    waiting = "trap 'echo ended > ended; exit 1' TERM\n: > ready\nwhile :; do sleep 0.05; done"
    executable(script, f"#!/bin/sh\n{waiting}\n")
    code = (
        "from hopbytes.launch.command import Start\n"
        "from hopbytes.launch.observed import probe\n"
        f"probe(Start(({str(script)!r},)))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / "ready").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    assert (tmp_path / "ended").read_text() == "ended\n"


def test_traces_called_txt_are_no_placements(tmp_path):
    dumpi = tmp_path / "trace-0000.txt"
    dumpi.write_text("MPI_Init entering at walltime 1.0, cputime 0.1 seconds in thread 0.\n")
    simgrid = tmp_path / "trace.txt"
    simgrid.write_text("0 init\n0 send 1 0 10\n1 init\n1 recv 0 0 10\n")
    assert hb.read(str(simgrid)).n == 2
    with pytest.raises(hb.errors.HopbytesError, match="MPI_"):
        hb.read(str(dumpi), holds="mapping")
    (tmp_path / "pe.txt").write_text("0\n1\n")
    assert hb.read(str(tmp_path / "pe.txt")).tolist() == [0, 1]
