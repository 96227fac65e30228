"""Commands of several programs: text, and what Open MPI and MPICH make of it."""

from __future__ import annotations

import shlex
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.placements import place
from helpers.real_mpi import script, version_of
from hopbytes.model.mapping import Mapping


def coupled(*programs):
    """A pattern of programs, given by their ranks and commands."""
    n = sum(tasks for tasks, _ in programs)
    found = [{"command": shlex.split(command), "tasks": tasks} for tasks, command in programs]
    ones = np.ones(n - 1, np.int64)
    return hb.CommGraph.from_edges(np.arange(n - 1), np.arange(1, n), ones, n=n, meta={"programs": found})


MAPPING = place("node:2@10 core:2@1", [3, 0, 2], hosts=("a", "b"))
GRAPH = coupled((2, "./ocean -f 'name list'"), (1, "./ice"))


def test_programs_follow_each_other_behind_colons(tmp_path):
    receipt = hb.write(MAPPING, tmp_path / "ranks", "openmpi", graph=GRAPH)
    stem = tmp_path / "ranks"
    programs = "-n 2 ./ocean -f 'name list' : -n 1 ./ice"
    assert receipt.launch == f"mpirun --hostfile {stem}.hosts --map-by rankfile:file={stem} {programs}"
    assert receipt.lines[1].command == f"mpirun --hostfile {stem}.hosts -rf {stem} {programs}"
    in_blocks = Mapping(np.array([2, 3, 0], np.int32), MAPPING.where)
    hydra = hb.write(in_blocks, tmp_path / "hydra", "hydra", graph=GRAPH)
    assert hydra.launch.endswith(f" {programs}")
    assert " -n 3 " not in hydra.launch


def test_variables_and_scripts_reach_every_program(tmp_path):
    wide = place("node:2@10 core:4@1", [3, 0, 2], hosts=("a", "b"), cores_per_slot=2)
    launch = hb.write(wide, tmp_path / "ranks", "openmpi", graph=GRAPH).launch
    assert launch.count("env OMP_NUM_THREADS=2 OMP_PLACES=cores ./") == 2
    assert "-x" not in launch
    gpus = place("node:2@10 gpu:2 core:2", [3, 0, 2], hosts=("a", "b"), cores_per_slot=2)
    scripted = hb.write(gpus, tmp_path / "gpus", "openmpi", graph=GRAPH).launch
    assert scripted.count(f"sh {tmp_path}/gpus.place.sh ./") == 2


def test_slurm_reads_a_file_of_programs(tmp_path):
    receipt = hb.write(MAPPING, tmp_path / "ranks", "slurm", graph=GRAPH)
    assert receipt.launch.endswith(f"--multi-prog {tmp_path}/ranks.programs.conf")
    named = "./ocean -f 'name list' on 2 ranks, ./ice on 1 ranks"
    assert f"starts what the pattern names: {named}" in receipt.notices[-1]
    lines = (tmp_path / "ranks.programs.conf").read_text().splitlines()
    assert lines[1:] == ["0-1 ./ocean -f 'name list'", "2-2 ./ice"]


ODD = ["{stem}", "a'b", 'a"b', "$(id)", "%t", "a b", "a\\b", "`hosts`", "", "-n 3", "ranks.place.sh ./app"]


def test_arguments_of_programs_stay_as_they_are(tmp_path, monkeypatch):
    """Also where they look like a placeholder, and where the name of the file has an apostrophe."""
    monkeypatch.chdir(tmp_path)
    graph = coupled((2, shlex.join(["./ocean", *ODD])), (1, "./ice"))
    for stem in ("ranks", "it's -n 3 -x A=b"):
        for form in ("openmpi", "hydra"):
            pe = [3, 0, 2] if form == "openmpi" else [2, 3, 0]
            mapping = Mapping(np.array(pe, np.int32), MAPPING.where)
            launch = hb.write(mapping, stem, form, graph=graph, force=True).launch
            words = shlex.split(launch)
            first = words.index("./ocean")
            assert words[first - 2 :] == ["-n", "2", "./ocean", *ODD, ":", "-n", "1", "./ice"]
            assert [word for word in words[:first] if stem in word]
        hb.write(MAPPING, stem, "slurm", graph=graph, force=True)
        (_, line, _) = (tmp_path / f"{stem}.programs.conf").read_text().splitlines()
        assert words_of_srun(line) == ["0-1", "./ocean", *filter(None, ODD)]


def words_of_srun(line):
    """Words as srun's ``multi_prog_get_argv`` takes them apart: single quotes, backslashes, ``%t``."""
    words, word, place = [], "", 0
    while place < len(line):
        letter = line[place]
        if letter == "'":
            end = line.index("'", place + 1)
            word, place = word + line[place + 1 : end], end
        elif letter == "\\":
            word, place = word + line[place + 1], place + 1
        elif letter == "%":
            word, place = f"{word}7", place + 1
        elif letter == " ":
            words, word = [*words, word], ""
        else:
            word += letter
        place += 1
    return [one for one in [*words, word] if one]


@pytest.mark.parametrize(
    "command", [["./a", ":", "./b"], ["-x", "LD_PRELOAD=b", "./a"], ["./a", "x\n0 ./b"], []]
)
def test_what_a_launcher_would_take_for_something_else_is_no_program(tmp_path, command):
    graph = hb.CommGraph.from_edges([0], [1], [1], n=3, meta={"programs": [
        {"command": command, "tasks": 2}, {"command": ["./ice"], "tasks": 1},
    ]})  # fmt: skip
    assert hb.write(MAPPING, tmp_path / "ranks", "openmpi", graph=graph).launch.endswith("./app")


def test_other_launchers_and_one_program(tmp_path):
    other = hb.write(MAPPING, tmp_path / "mvapich", "mvapich", graph=GRAPH)
    assert any("one program, not 2" in notice for notice in other.notices)
    alone = hb.write(MAPPING, tmp_path / "ranks", "openmpi", graph=coupled((3, "./alone")))
    assert alone.launch.endswith("./app")


def test_a_stored_mapping_knows_its_programs(tmp_path):
    hb.write(MAPPING, tmp_path / "stored.json", graph=GRAPH)
    stored = hb.read_mapping(tmp_path / "stored.json")
    launch = hb.write(stored, tmp_path / "ranks", "openmpi").launch
    assert launch.endswith("-n 2 ./ocean -f 'name list' : -n 1 ./ice")


@pytest.mark.launcher
@pytest.mark.parametrize(("family", "launcher", "form"), [
    ("openmpi 5", "mpirun", "openmpi"), ("openmpi 4", "mpirun.openmpi", "openmpi"),
    ("mpich", "mpiexec.hydra", "hydra"),
])  # fmt: skip
def test_every_program_has_its_ranks(mpi_folder, family, launcher, form):
    if version_of(launcher) != family:
        pytest.skip(f"{family} is not installed as {launcher}")
    say = script('echo "$1 ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} $2"', "say")
    where = hb.allocate("node:1@10 core:2@1", hosts=("localhost",))
    order = [1, 0] if form == "openmpi" else [0, 1]
    graph = coupled((1, f"{say} ocean 'a b'"), (1, f"{say} ice"))
    receipt = hb.write(Mapping(np.array(order, np.int32), where), "ranks", form, graph=graph)
    version = family[-1:]
    command = next((line.command for line in receipt.lines if line.version == version), receipt.launch)
    words = shlex.split(command)
    done = subprocess.run([launcher, *words[1:]], capture_output=True, text=True, timeout=60)
    assert sorted(done.stdout.split("\n")) == ["", "ice 1 ", "ocean 0 a b"], done.stderr
