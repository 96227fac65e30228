"""A launcher that starts nothing, and settings of LD_PRELOAD in a user's command."""

import shlex

import pytest

from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.launchers import silent_end
from hopbytes.record.application import Application
from hopbytes.record.counts import Counts, counted
from hopbytes.record.interposer import with_preloaded
from hopbytes.record.session import reason

SAYS = {
    "mpirun": "mpirun (Open MPI) 5.0.3", "mpirun4": "mpirun (Open MPI) 4.1.4",
    "mpiexec": "HYDRA build details:", "mpiexec.pals": "PALS version 1.2.12", "srun": "slurm", "flux": "flux",
    "mpirun_rsh": "rsh",
}  # fmt: skip
NOTHING = "no rank wrote anything, expected a file per rank"


@pytest.fixture(autouse=True)
def launchers(tmp_path, monkeypatch):
    """Programs that only say who they are."""
    for name, text in SAYS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("LD_PRELOAD", raising=False)


@pytest.mark.parametrize(
    ("family", "counting", "crashed"),
    [("openmpi", False, True), ("openmpi", True, False), ("mpich", False, False)],
)
def test_a_segmentation_fault_may_be_that_of_the_monitoring(tmp_path, family, counting, crashed):
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(["mpirun", "-n", "16", "./halo"])
    program = Application("./halo", family, linked=True)
    said = reason(str(folder), command, program, NOTHING, 139, counting)
    assert ("Open MPI's monitoring crashes" in said) == crashed


def test_phases_are_told_where_the_program_named_any():
    assert "phases" not in counted(Counts(n=2, phases={0: 5}), "ring", per_communicator=False)
    facts = counted(Counts(n=2, phases={2: 7, 0: 5}), "ring", per_communicator=False)
    assert facts["phases"] == {"0": 5, "2": 7}


@pytest.mark.parametrize("words", ["mpirun -n 16 ./halo", "srun -n 16 ./halo", "mpirun4 -n 16 ./halo"])
@pytest.mark.parametrize("counting", [True, False])
def test_a_launcher_that_refuses_is_named(tmp_path, words, counting):
    """Nothing about recordings and interposers: the launcher has said what is wrong."""
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(words.split())
    program = Application("./halo", "openmpi", True)
    said = reason(str(folder), command, program, NOTHING, 1, counting)
    assert said.startswith(f"{words.split()[0]} did not start the program (code 1), see its message above")
    assert "interposer" not in said
    (folder / "rank.0.txt").write_text("")  # a rank was started
    assert "did not start" not in reason(str(folder), command, program, NOTHING, 1, counting)


def test_other_codes_are_those_of_the_program(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(["mpirun", "-n", "2", "./halo"])
    program = Application("./halo", "openmpi", True)
    assert "the program ended with code 3" in reason(str(folder), command, program, NOTHING, 3, True)


def test_a_rank_file_with_cores_that_hosts_lack_is_named_where_mpirun_says_nothing(tmp_path):
    """Open MPI 4 ends with code 1 and no message; 5 and 6 explain it."""
    four, five = (LaunchCommand.parse([name, "./halo"]).launcher for name in ("mpirun4", "mpirun"))
    assert "a core that its host does not have" in silent_end(four, ["mpirun4", "-rf", "f"], 1)
    assert silent_end(five, ["mpirun", "-rf", "f"], 1) == ""
    assert silent_end(four, ["mpirun4", "-n", "2"], 1) == silent_end(four, ["mpirun4", "-rf", "f"], 3) == ""
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(["mpirun4", "-rf", "f", "./halo"])
    said = reason(str(folder), command, Application("./halo", "openmpi", True), NOTHING, 1, False)
    assert "if there is none: Open MPI 4 ends without a message" in said


@pytest.mark.parametrize(
    ("typed", "joined"),
    [
        ("mpirun -x LD_PRELOAD=/u.so -n 2 ./a", "mpirun -x LD_PRELOAD=/i.so:/u.so -n 2 ./a"),
        ("mpirun -x LD_PRELOAD -n 2 ./a", "mpirun -x LD_PRELOAD=/i.so -n 2 ./a"),
        ("mpirun --mca mca_base_env_list A=1;LD_PRELOAD=/u.so ./a",
         "mpirun --mca mca_base_env_list A=1;LD_PRELOAD=/i.so:/u.so ./a"),
        ("mpiexec -genv LD_PRELOAD /u.so -n 2 ./a", "mpiexec -genv LD_PRELOAD /i.so:/u.so -n 2 ./a"),
        ("mpiexec -genv LD_PRELOAD=/u.so -n 2 ./a", "mpiexec -genv LD_PRELOAD=/i.so:/u.so -n 2 ./a"),
        ("mpiexec -n 1 -env LD_PRELOAD /u.so ./a : -n 1 ./b",
         "mpiexec -n 1 -env LD_PRELOAD /i.so:/u.so ./a : -n 1 ./b"),
        ("mpiexec.pals --env LD_PRELOAD=/u.so ./a", "mpiexec.pals --env LD_PRELOAD=/i.so:/u.so ./a"),
        ("flux run --env=LD_PRELOAD=/u.so ./a", "flux run --env=LD_PRELOAD=/i.so:/u.so ./a"),
        ("srun --export=ALL,LD_PRELOAD=/u.so,B=1 ./a", "srun --export=ALL,LD_PRELOAD=/i.so:/u.so,B=1 ./a"),
        ("mpirun_rsh -np 2 LD_PRELOAD=/u.so ./a", "mpirun_rsh -np 2 LD_PRELOAD=/i.so:/u.so ./a"),
        ("env LD_PRELOAD=/u.so srun ./a", "env LD_PRELOAD=/i.so:/u.so srun ./a"),
        ("mpirun -n 2 env A=1 LD_PRELOAD=/u.so ./a LD_PRELOAD=x",
         "mpirun -n 2 env A=1 LD_PRELOAD=/i.so:/u.so ./a LD_PRELOAD=x"),
        ("mpirun -x MY_LD_PRELOAD=/u.so ./a", "mpirun -x MY_LD_PRELOAD=/u.so ./a"),
    ],
)  # fmt: skip
def test_libraries_of_the_user_are_loaded_beside_the_interposer(typed, joined):
    command = LaunchCommand.parse(shlex.split(typed.replace(";", "\\;")), several=":" in typed.split())
    assert shlex.join(with_preloaded(command, "/i.so").words()) == shlex.join(joined.split())


def test_a_name_alone_takes_the_value_of_the_environment(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/env.so")
    command = LaunchCommand.parse(["mpirun", "-x", "LD_PRELOAD", "./a"])
    assert with_preloaded(command, "/i.so").words()[2] == "LD_PRELOAD=/i.so:/env.so"
