"""place.sh run by a real shell: it binds the rank it finds, whoever started it, and refuses to guess."""

import os
import shutil
import subprocess

import pytest

from helpers.placements import place
from hopbytes.formats.mappings.launch_files import prepare
from hopbytes.formats.mappings.place_script import place_script

CPUS = sorted(os.sched_getaffinity(0))

needs_taskset = pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed")


def run(tmp_path, env, script, program=("grep", "Cpus_allowed_list", "/proc/self/status")):
    path = tmp_path / "place.sh"
    path.write_text(script)
    env = {"PATH": os.environ["PATH"], **env}
    return subprocess.run(
        ["sh", str(path), *program], env=env, capture_output=True, text=True, timeout=30
    )


@needs_taskset
@pytest.mark.skipif(CPUS[:2] != [0, 1], reason="needs CPUs 0 and 1")
@pytest.mark.parametrize("variable", ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID"])
def test_a_rank_runs_on_its_core(tmp_path, variable):
    script = place_script(prepare(place("core:2", [1, 0]), {}))
    for rank, cpu in ((0, "1"), (1, "0")):
        done = run(tmp_path, {variable: str(rank)}, script)
        assert done.stdout.split() == ["Cpus_allowed_list:", cpu], done.stderr


@needs_taskset
@pytest.mark.skipif(CPUS[:2] != [0, 1], reason="needs CPUs 0 and 1")
def test_openmp_gets_as_many_threads_as_there_are_cores_and_keeps_what_is_set(tmp_path):
    script = place_script(prepare(place("core:2", [0], cores_per_slot=2), {}))
    show = ("sh", "-c", 'echo "$OMP_NUM_THREADS $OMP_PLACES $*"', "name", "two words", "$x")
    assert run(tmp_path, {"PMI_RANK": "0"}, script, show).stdout == "2 cores two words $x\n"
    env = {"PMI_RANK": "0", "OMP_NUM_THREADS": "7", "OMP_PLACES": "threads"}
    assert run(tmp_path, env, script, show).stdout == "7 threads two words $x\n"


@needs_taskset
@pytest.mark.skipif(CPUS[:2] != [0, 1], reason="needs CPUs 0 and 1")
def test_mpirun_inside_a_slurm_batch_script_wins_over_the_inherited_rank(tmp_path):
    script = place_script(prepare(place("core:2", [1, 0]), {}))
    done = run(tmp_path, {"SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "1"}, script)
    assert done.stdout.split()[-1] == "0"


@pytest.mark.parametrize("env", [{}, {"PMI_RANK": "2"}, {"PMI_RANK": "*"}, {"PMI_RANK": ""}])
def test_without_a_known_rank_nothing_is_started(tmp_path, env):
    done = run(tmp_path, env, place_script(prepare(place("core:2", [1, 0]), {})), ("echo", "started"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "is none of 0 to 1" in done.stderr


def test_the_script_is_posix_shell(tmp_path):
    script = tmp_path / "place.sh"
    script.write_text(place_script(prepare(place("node:2@10 core:4@1", [7, 0, 3]), {})))
    assert subprocess.run(["sh", "-n", str(script)], capture_output=True).returncode == 0
