"""place.sh run by a real shell: it binds the rank it finds, whoever started it, and refuses to guess."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import file_with
from helpers.placements import place
from helpers.real_mpi import needs_two_cpus
from hopbytes.formats.mappings.launch_files import prepare
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.machines.node.node_tree import Gpu, NodeInventory, Part, node_tree
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.model.mapping import Mapping

needs_taskset = pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed")


def run(tmp_path, env, script, program=("grep", "Cpus_allowed_list", "/proc/self/status")):
    path = file_with(tmp_path / "place.sh", script)
    env = {"PATH": os.environ["PATH"], **env}
    return subprocess.run(
        ["sh", str(path), *program], env=env, capture_output=True, text=True, timeout=30
    )


@needs_taskset
@needs_two_cpus
@pytest.mark.parametrize("variable", ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID"])
def test_a_rank_runs_on_its_core(tmp_path, variable):
    script = place_script(prepare(place("core:2", [1, 0]), {}))
    for rank, cpu in ((0, "1"), (1, "0")):
        done = run(tmp_path, {variable: str(rank)}, script)
        assert done.stdout.split() == ["Cpus_allowed_list:", cpu], done.stderr


@needs_taskset
@needs_two_cpus
def test_openmp_gets_as_many_threads_as_there_are_cores_and_keeps_what_is_set(tmp_path):
    script = place_script(prepare(place("core:2", [0], cores_per_slot=2), {}))
    show = ("sh", "-c", 'echo "$OMP_NUM_THREADS $OMP_PLACES $*"', "name", "two words", "$x")
    assert run(tmp_path, {"PMI_RANK": "0"}, script, show).stdout == "2 cores two words $x\n"
    env = {"PMI_RANK": "0", "OMP_NUM_THREADS": "7", "OMP_PLACES": "threads"}
    assert run(tmp_path, env, script, show).stdout == "7 threads two words $x\n"


@needs_taskset
@needs_two_cpus
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


SHOW = (
    "sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES|$ROCR_VISIBLE_DEVICES|$ZE_AFFINITY_MASK|$HIP_VISIBLE_DEVICES'
    '|$CUDA_DEVICE_ORDER|$ZE_FLAT_DEVICE_HIERARCHY"',
)  # fmt: skip


def gpu_script(*gpus):
    """Return the script of ranks with these GPUs of one node, in reverse order."""
    cores = tuple(Part("core", i, (Part("pu", i),)) for i in range(len(gpus)))
    tree = node_tree(Part("machine", 0, cores), gpus=tuple(gpus))
    where = hb.allocate(NodeMachine("test:", NodeInventory((tree,), (0,))), per="gpu")
    pe = np.arange(where.k, dtype=np.int32)[::-1]
    script = place_script(prepare(Mapping(pe, where, {"problem": "processes"}), {}))
    return script.replace('taskset -c "$cores" ', "")


def shown(tmp_path, script, rank=0, **env):
    return run(tmp_path, {"PMI_RANK": str(rank), **env}, script, SHOW)


@pytest.mark.parametrize(
    ("maker", "name", "device", "expected"),
    [
        ("nvidia", "cuda1", "", "1|||||"), ("nvidia", "nvml1", "", "1||||PCI_BUS_ID|"),
        ("nvidia", "0000:81:00.0", "", "1||||PCI_BUS_ID|"), ("amd", "rsmi1", "", "|1||||"),
        ("intel", "ze1", "", "||1|||"), ("intel", "ze0.1", "0.1", "||0.1|||COMPOSITE"),
    ],
)  # fmt: skip
def test_the_variable_is_that_of_the_maker(tmp_path, maker, name, device, expected):
    """HIP obeys the variables of others too: what a launcher set there would hide the GPU again."""
    script = gpu_script(Gpu(0, name[:-1] + "0", (0,), None, maker), Gpu(1, name, (1,), None, maker, device))
    assert shown(tmp_path, script).stdout == f"{expected}\n"
    if maker == "amd":
        other = {"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}
        assert shown(tmp_path, script, **other).stdout == f"{expected}\n"


def test_ranks_of_two_makers(tmp_path):
    script = gpu_script(Gpu(0, "cuda0", (0,), None, "nvidia"), Gpu(1, "rsmi0", (1,), None, "amd", "0"))
    assert [shown(tmp_path, script, rank).stdout for rank in (0, 1)] == ["|0||||\n", "0|||||\n"]


MIG = "MIG-feb88891,MIG-a25704ba,MIG-50f1c4c9"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("0,1", "1"), ("1", "1"), ("3,1,2", "1"), ("", "1"), ("NoDevFiles", "1"), (MIG, "MIG-a25704ba"),
        ("GPU-7fdaf0a5,GPU-1", "GPU-1"), ("0,GPU-1", "GPU-1"), ("0,-1", None), ("-1,none", None),
        ("0", None), ("2,3", None), ("10,11", None), ("MIG-feb88891", None),
    ],
)  # fmt: skip
def test_a_list_of_the_job_holds(tmp_path, own, expected):
    """A number must be among those of the job; of identifiers it is the place in the list."""
    script = gpu_script(*(Gpu(i, f"nvml{i}", (i,), None, "nvidia") for i in range(2)))
    done = shown(tmp_path, script, CUDA_VISIBLE_DEVICES=own)
    if expected is not None:
        assert (done.returncode, done.stdout.split("|")[0]) == (0, expected)
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"place.sh: rank 0: GPU 1 is not among CUDA_VISIBLE_DEVICES={own} of its job\n"


def test_a_whole_device_has_its_tiles(tmp_path):
    script = gpu_script(*(Gpu(i, f"ze0.{i}", (i,), None, "intel", f"0.{i}") for i in range(2)))
    assert shown(tmp_path, script, ZE_AFFINITY_MASK="0").stdout.split("|")[2] == "0.1"
    assert shown(tmp_path, script, ZE_AFFINITY_MASK="0.1").returncode == 0
    assert shown(tmp_path, script, ZE_AFFINITY_MASK="1").returncode == 1


def test_scripts_with_gpus_are_posix_shell(tmp_path):
    for gpu in (Gpu(0, "nvml0", (0,), None, "nvidia"), Gpu(0, "0000:81:00.0", (0,))):
        script = file_with(tmp_path / "place.sh", gpu_script(gpu))
        for shell in filter(shutil.which, ("sh", "bash", "dash")):
            assert subprocess.run([shell, "-n", str(script)], capture_output=True).returncode == 0
