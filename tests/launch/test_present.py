"""The launch line for the MPI that is there; programs that only say their version stand in for launchers."""

import json
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import PROGRAM, executable
from helpers.placements import place
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.options import LaunchingOptions, WritingOptions
from hopbytes.cli.verb_run import verify
from hopbytes.formats.exchange import Receipt
from hopbytes.launch import installed
from hopbytes.launch.installed import advice

SAYS = {
    "Open MPI 5": "mpirun (Open MPI) 5.0.11",
    "Open MPI 4": "mpirun (Open MPI) 4.1.4",
    "MPICH": "HYDRA build details:\n    Version: 4.0.2",
    "Intel MPI": "Intel(R) MPI Library for Linux* OS, Version 2021.19",
    "somebody": "hello",
}
FOUR = "mpirun -n 4 --hostfile rf.hosts -rf rf ./app"
FIVE = "mpirun -n 4 --hostfile rf.hosts --map-by rankfile:file=rf ./app"


def install(folder, **launchers):
    """Put programs into a folder that say their version and nothing else; return the environment."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, who in launchers.items():
        path = folder / name.replace("_", ".")
        executable(path, f"#!/bin/sh\ncat <<'END'\n{SAYS.get(who, who)}\nEND\n")
    return {"PATH": str(folder)}


@pytest.fixture
def receipt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return hb.write(place("node:2@10 core:2@1", [0, 3, 1, 2], hosts=("n1", "n2")), "rf", "openmpi")


@pytest.mark.parametrize(("version", "command"), [("Open MPI 4", FOUR), ("Open MPI 5", FIVE)])
def test_the_line_is_for_the_version_that_is_there(receipt, tmp_path, monkeypatch, version, command):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # for the stand-ins' own cat
    said = advice(receipt, "openmpi", install(tmp_path / "bin", mpirun=version))
    assert said.lines == (("launch", command),)
    assert dict(said.others) == {"Open MPI 5": FIVE, "Open MPI 4": FOUR}
    assert not said.notices


def test_both_lines_where_nothing_can_be_asked(receipt, tmp_path):
    said = advice(receipt, "openmpi", {"PATH": str(tmp_path)})
    assert said.lines == (("launch, Open MPI 5", FIVE), ("launch, Open MPI 4", FOUR))
    assert said.command == receipt.launch


def test_a_launcher_under_another_name_is_the_one_to_type(receipt, tmp_path):
    """Debian with both: mpirun may be MPICH's."""
    environment = install(tmp_path / "bin", mpirun="MPICH", mpiexec="MPICH", mpirun_openmpi="Open MPI 4")
    said = advice(receipt, "openmpi", environment)
    assert said.lines == (("launch", FOUR.replace("mpirun", "mpirun.openmpi")),)


def test_a_module_that_only_sets_its_folder_is_found(receipt, tmp_path):
    install(tmp_path / "mpi" / "bin", mpirun="Open MPI 5")
    said = advice(receipt, "openmpi", {"PATH": "", "MPI_HOME": str(tmp_path / "mpi")})
    assert said.lines == (("launch", FIVE.replace("mpirun", str(tmp_path / "mpi" / "bin" / "mpirun"))),)


def test_another_mpi_is_named(receipt, tmp_path):
    said = advice(receipt, "openmpi", install(tmp_path / "bin", mpirun="MPICH"))
    assert [label for label, _ in said.lines] == ["launch, Open MPI 5", "launch, Open MPI 4"]
    assert said.notices == (
        "mpirun on this host is Hydra, expected Open MPI 5 or Open MPI 4 (or `write(format='hydra')`)",
    )


def test_a_launcher_that_does_not_answer_in_time_is_as_none(receipt, tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "VERSION_TIMEOUT", 0.2)
    environment = install(tmp_path / "bin")
    executable(tmp_path / "bin" / "mpirun", "#!/bin/sh\nexec /bin/sleep 30\n")
    assert len(advice(receipt, "openmpi", environment).lines) == 2
    install(tmp_path / "bin", mpirun="somebody")
    assert len(advice(receipt, "openmpi", environment).lines) == 2


@pytest.mark.parametrize(("form", "word"), [("hydra", "mpiexec.hydra"), ("intel", "mpirun")])
def test_formats_of_one_mpi_keep_to_it(tmp_path, monkeypatch, form, word):
    monkeypatch.chdir(tmp_path)
    receipt = hb.write(place("node:2@10 core:2@1", [0, 1, 3, 2], hosts=("n1", "n2")), "f", form)
    right = {"hydra": "MPICH", "intel": "Intel MPI"}[form]
    wrong = {"hydra": "Intel MPI", "intel": "MPICH"}[form]
    said = advice(receipt, form, install(tmp_path / "bin", mpiexec=right))
    assert said.lines == (("launch", receipt.launch.replace(word, "mpiexec", 1)),)
    said = advice(receipt, form, install(tmp_path / "other", **{word.replace(".", "_"): wrong}))
    assert said.lines == (("launch", receipt.launch),)
    assert f"{word} on this host is" in said.notices[0]


def test_nothing_is_asked_where_one_command_is_for_all(tmp_path):
    receipt = Receipt(("f",), "SLURM_HOSTFILE=f srun -n 2 ./app")
    environment = install(tmp_path / "bin", srun="Open MPI 4")
    assert advice(receipt, "slurm", environment).lines == (("launch", receipt.launch),)
    assert advice(Receipt(("f",)), "plain", environment).lines == ()


def test_srun_does_not_see_how_many_cpus_the_job_has_for_a_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = {"PATH": "", "SLURM_CPUS_PER_TASK": "1"}
    mapping = place("node:2@10 core:2@1", [0, 1, 3, 2], hosts=("n1", "n2"))
    for form in ("slurm", "cray"):
        receipt = hb.write(mapping, "my srun file", form, force=True)
        ((_, line),) = advice(receipt, form, inside).lines
        assert line.replace("env -u SLURM_CPUS_PER_TASK srun ", "srun ") == receipt.launch != line


def test_only_the_launcher_is_replaced(tmp_path, monkeypatch):
    """A name of a file may have the name of a launcher in it."""
    monkeypatch.chdir(tmp_path)
    mapping = place("node:2@10 core:2@1", [0, 1, 3, 2], hosts=("n1", "n2"))
    receipt = hb.write(mapping, "an mpiexec file", "lsf")
    (line, *_) = (one.command for one in receipt.lines)
    environment = install(tmp_path / "bin", mpirun="Open MPI 4")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    ((_, said),) = advice(receipt, "lsf", environment).lines
    assert said == line.replace("' mpiexec -n", "' mpirun -n")


@pytest.mark.parametrize("verb", ["map", "write"])
def test_no_command_stands_before_the_last_lines(tmp_path, verb):
    environment = {"PATH": str(tmp_path)}
    words = [PROGRAM, "map", "stencil:2x4", "--on", "node:2@10 core:4@1", "--hosts", "n[1-2]"]
    if verb == "write":
        subprocess.run([*words, "-o", "m.json"], cwd=tmp_path, check=True, capture_output=True)
        words = [PROGRAM, "write", "m.json"]
    words += ["-o", "rf", "--format", "openmpi"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *before, five, four = done.stderr.splitlines()
    assert five.startswith("launch, Open MPI 5: mpirun -n 8 --hostfile rf.hosts --map-by rankfile:file=rf")
    assert four == "launch, Open MPI 4: mpirun -n 8 --hostfile rf.hosts -rf rf ./app"
    assert not [line for line in before if "mpirun -n" in line]


def test_json_has_the_alternatives(tmp_path):
    environment = install(tmp_path / "bin", mpirun="Open MPI 4")
    environment["PATH"] += ":/usr/bin:/bin"
    words = ["map", "stencil:2x4", "--json", "--hosts", "n[1-2]", "-o", "rf", "--format", "openmpi", "--on"]
    done = subprocess.run(
        [PROGRAM, *words, "node:2@10 core:4@1"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    record = json.loads(done.stdout)
    assert record["launch"] == record["launches"]["Open MPI 4"]
    assert set(record["launches"]) == {"Open MPI 4", "Open MPI 5"}


def test_locate_says_what_was_seen_unless_quiet(monkeypatch, tmp_path, capsys):
    """The mapping is in the file in any case."""
    monkeypatch.chdir(tmp_path)
    seen = hb.Mapping(np.arange(2, dtype=np.int32), hb.allocate("core:2"), info={"notices": ["all was seen"]})
    monkeypatch.setattr("hopbytes.launch.launch.mapping_launched", lambda where, words: seen)
    launcher = tmp_path / "mpirun"
    executable(launcher, "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.11'\n")
    for quiet in (False, True):
        path = f"{quiet}.json"
        command = [str(launcher), "./app"]
        options = (MachineOptions(on="core:2"), WritingOptions(), LaunchingOptions())
        verify(*options, None, command, output=path, quiet=quiet)
        assert hb.read_mapping(path).pe.tolist() == [0, 1]
        assert ("all was seen" in capsys.readouterr().err) != quiet
