"""Launch formats on nodes that know their own numbers: CPUs of the operating system, GPUs, shared nodes."""

import subprocess

import numpy as np

from helpers.paths import hwloc_sample
from helpers.placements import write
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.mapping import Mapping

SMT = "hwloc:" + hwloc_sample("v2_smt_gpus.xml")


def test_cpu_numbers_come_from_the_nodes_own_tree():
    """A node of 8 cores whose hardware threads are c and c + 8: core 3 is CPUs 3 and 11."""
    mapping = Mapping(np.array([3, 0, 1], np.int32), allocate(SMT), {"problem": "processes"})
    whole = Mapping(mapping.pe, allocate("synthetic:core:8 pu:2(indexes=core)"), mapping.info)
    assert "mask_cpu:0x808,0x101,0x202 " in write("slurm", whole).launch
    assert "user:3+11,0+8,1+9 " in write("hydra", mapping).launch
    assert write("openmpi", mapping).files[""].splitlines()[1] == "rank 0=localhost slot=3"
    assert not any("assumed to be the core numbers" in text for text in write("hydra", mapping).notices)


def test_srun_gets_no_list_where_nodes_may_be_shared():
    """PUs 7 and 15 of the sample are not ours: what srun counts from is anybody's guess."""
    mapping = Mapping(np.array([3, 0, 1], np.int32), allocate(SMT), {"problem": "processes"})
    written = write("slurm", mapping)
    assert "--cpu-bind=none sh {stem}.place.sh" in written.launch
    assert "0) cores=3,11 threads=1 ;;" in written.files[".place.sh"]
    assert any("the job has only some CPUs of its nodes" in notice for notice in written.notices)
    # Leaving cores out oneself is something else; so is a job that says what it may use.
    own = Mapping(np.array([1, 0], np.int32), allocate("synthetic:core:4@a,b", exclude="core=0"))
    assert "map_cpu:2,1 " in write("slurm", own).launch
    assert ".place.sh" in write("slurm", own, allowed="1-3").launch


def test_gpus_reach_ranks_by_the_script():
    """Not by options of srun or flux: they do nothing in a job that asked for no GPUs."""
    mapping = Mapping(np.array([1, 0], np.int32), allocate(SMT, per="gpu"), {"problem": "processes"})
    assert "gpu: {1}" in write("jsrun", mapping).files[""]
    for form in ("openmpi", "hydra", "pals", "intel", "mvapich", "slurm", "flux"):
        written = write(form, mapping)
        assert "sh {stem}.place.sh ./app" in written.launch
        assert "0) cores=2-3,10-11 threads=2 gpus=1 ;;" in written.files[".place.sh"]
        # What is written is the placement itself, not one with slots renumbered.
        assert (written.placed or mapping).pe.tolist() == [1, 0]
    assert "--cpu-bind=none --gpu-bind=none sh" in write("slurm", mapping).launch
    assert "-o gpu-affinity=off -o cpu-affinity=off sh" in write("flux", mapping).launch


def test_the_script_shows_a_rank_its_gpu(tmp_path):
    mapping = Mapping(np.array([1, 0], np.int32), allocate(SMT, per="gpu"), {"problem": "processes"})
    script = tmp_path / "place.sh"
    # Neither the CPUs of that node nor taskset need be here.
    script.write_text(write("openmpi", mapping).files[".place.sh"].replace('taskset -c "$cores" ', ""))
    env = {"PATH": "/usr/bin:/bin", "PMI_RANK": "0"}
    show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES$ZE_AFFINITY_MASK"]
    done = subprocess.run(["sh", script, *show], env=env, capture_output=True, text=True, timeout=30)
    assert done.stdout == "1\n"
