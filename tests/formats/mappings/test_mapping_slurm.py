"""Hostfile and binding list for srun: they cost the same as the mapping."""

from helpers.placements import place, write


def test_slots_of_several_cores_become_masks_and_threads():
    mapping = place("node:1 package:2@3 core:4@1", [3, 0, 1, 2], cores_per_slot=2, hosts=("a",))
    launch = write("slurm", mapping).launch
    settings = "SLURM_HOSTFILE={stem} OMP_NUM_THREADS=2 OMP_PLACES=cores"
    assert launch.startswith(f"{settings} srun -n 4 --distribution=arbitrary ")
    assert "--cpus-per-task" not in launch  # see the writer: partly used nodes could not be bound
    assert "--cpu-bind=mask_cpu:0xc0,0x3,0xc,0x30 " in launch


def test_clusters_that_manage_their_gpus_need_no_script():
    """Ranks 0 to 3 on node b, 4 to 7 on node a, in the same order of GPUs: one list serves both."""
    mapping = place("node:2 gpu:4", [6, 7, 4, 5, 2, 3, 0, 1], hosts=("a", "b"))
    (notice,) = [notice for notice in write("slurm", mapping).notices if "gres.conf" in notice]
    assert "SLURM_HOSTFILE={stem} srun -n 8 --distribution=arbitrary --gpus-per-node=4 " in notice
    assert "--gpu-bind=map_gpu:2,3,0,1 ./app" in notice
    other = place("node:2 gpu:4", [6, 7, 4, 5, 0, 1, 2, 3], hosts=("a", "b"))
    assert not any("gres.conf" in notice for notice in write("slurm", other).notices)
    two_each = place("node:2 package:2 gpu:2", [1, 0, 3, 2], hosts=("a", "b"), cores_per_slot=2)
    assert any("--gpu-bind=mask_gpu:0xc,0x3 " in notice for notice in write("slurm", two_each).notices)
