"""A machine that is too small for processes is an error, and a partition that nobody asked for is told."""

import pytest

from helpers.paths import EXAMPLES

EXAMPLE = EXAMPLES / "lammps_lj_64.csv"
TOO_FEW = (
    "64 processes, but the machine has 8 cores (2 nodes x 4): more nodes, or --oversubscribe, or "
    "--partition for mesh vertices"
)
SMALL = ("--on", "node:2 core:4")


@pytest.mark.parametrize(
    "pattern",
    [
        EXAMPLE, "ml:tp=8,pp=4,dp=2", "alltoall:64", "butterfly:64", "transpose:8x8", "hierarchical:4x4x4",
        "64.txt",
    ],
)  # fmt: skip
def test_processes_are_never_silently_a_partition(hopbytes, tmp_path, pattern):
    hopbytes("write", EXAMPLE, "-o", "64.txt", "--format", "dense")
    done = hopbytes("map", pattern, *SMALL, "-o", "out.txt")
    assert (done.returncode, done.stderr) == (1, f"hopbytes: {TOO_FEW}\n")
    assert not (tmp_path / "out.txt").exists()
    done = hopbytes("map", pattern, *SMALL, "-o", "out.txt", "--partition", "--preset", "fast", code=0)
    assert "\npartition: J " in done.stderr
    done = hopbytes("map", pattern, *SMALL, "--oversubscribe", "--preset", "fast", code=0)
    assert "\nprocesses: J " in done.stderr


def test_a_recorded_pattern_file_stays_one_of_processes(hopbytes):
    assert hopbytes("write", EXAMPLE, "-o", "app.pattern").returncode == 0
    assert hopbytes("write", "stencil:8x8", "-o", "mesh.pattern").returncode == 0
    assert TOO_FEW in hopbytes("map", "app.pattern", *SMALL).stderr
    assert hopbytes("map", "mesh.pattern", *SMALL).stderr.startswith("64 tasks on 8 cores: treated as")


def test_a_mesh_is_a_partition_and_told_so(hopbytes):
    said = "64 tasks on 8 cores: treated as a partition, 8 tasks per core (--processes selects one each)\n"
    done = hopbytes("map", "stencil:8x8", *SMALL, "-o", "out.txt", code=0)
    assert done.stderr.startswith(said)
    assert "\npartition: J " in done.stderr
    done = hopbytes("map", "stencil:8x9", *SMALL, "-o", "out.json")
    assert "72 tasks on 8 cores: treated as a partition, 9 tasks per core" in done.stderr
    done = hopbytes("map", "stencil:10x10", *SMALL)
    assert "100 tasks on 8 cores: treated as a partition, about 12.5 tasks per core" in done.stderr
    done = hopbytes("map", "stencil:8x8", *SMALL, "--partition", code=0)
    assert "treated" not in done.stderr
    done = hopbytes("map", "stencil:8x8", *SMALL, "--processes")
    assert (done.returncode, done.stderr) == (1, f"hopbytes: {TOO_FEW}\n")


@pytest.mark.parametrize("form", ["openmpi", "slurm", "hydra", "torchrun", "newrank"])
def test_launch_files_are_for_processes(hopbytes, tmp_path, form):
    for more in (("--format", form), ("--for", form), ("--for", form, "--format", "json")):
        done = hopbytes("map", "stencil:8x8", *SMALL, "-o", "out", *more, code=1)
        assert done.stderr.startswith(f"hopbytes: {TOO_FEW.partition('more')[0]}"), more
    assert not list(tmp_path.iterdir())


def test_the_error_counts_what_there_is(hopbytes):
    for on, said in (
        (("--on", "node:4 core:8"), "32 cores (4 nodes x 8): "),
        (("--on", "node:2 core:[3,2]"), "5 cores: "),
        (("--on", "core:6"), "6 cores: "),
        (("--on", "torus:2x2"), "4 cores (4 nodes x 1): "),
        (("--on", "core:1"), "1 core: "),
        (("--on", "node:4 core:8", "--cores-per-task", "2"), "16 slots (4 nodes x 4 slots of 2 cores): "),
    ):
        done = hopbytes("map", EXAMPLE, *on, code=1)
        assert f"64 processes, but the machine has {said}more nodes, or" in done.stderr
