"""Variables of a real Slurm in a job, in its steps, and in a heterogeneous job, and the hosts they mean."""

from __future__ import annotations

import subprocess

import pytest
from slurm_nodes import needs_slurm, slurm_cluster

from hopbytes.machines.node.job import find_job

pytestmark = [pytest.mark.launcher, pytest.mark.xdist_group("slurm"), needs_slurm]

HOSTS = ("n1", "n2", "n3", "n4")


def environments(folder, options, commands):
    """Return what `env` prints after each of several commands inside one job."""
    script = "\n".join(f"echo '#'{number}; {command}" for number, command in enumerate(commands))
    with slurm_cluster(folder / "slurm") as environment:
        words = ["salloc", "-Q", *options, "sh", "-c", script]
        clean = {name: value for name, value in environment.items() if not name.startswith("SLURM_JOB")}
        done = subprocess.run(words, env=clean, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    parts = [part.splitlines() for part in done.stdout.split("#")[1:]]
    return [dict(line.split("=", 1) for line in part if "=" in line) for part in parts]


def test_a_job_and_its_steps(tmp_path):
    one = "srun -Q -N1 -n1 -c1 env | sort -u"
    steps = ["env", one, "srun -Q -N2 -n4 env | sort -u", "srun -Q -N4 -n8 env | sort -u"]
    job, alone, some, all_of_it = map(find_job, environments(tmp_path, ["-N4", "-n8"], steps))
    for found in (job, alone, some, all_of_it):
        assert (found.system, found.hosts, found.cpus) == ("Slurm", HOSTS, (2, 2, 2, 2))
    assert (job.tasks, job.notices) == ((2, 2, 2, 2), ())
    assert (all_of_it.tasks, all_of_it.notices) == ((2, 2, 2, 2), ())
    for found, hosts in ((alone, "1 host"), (some, "2 hosts")):
        assert found.tasks is None
        assert f"inside a step on {hosts}: the 4 hosts of the job" in found.notices[0]


def test_cpus_per_task(tmp_path):
    (job,) = map(find_job, environments(tmp_path, ["-N2", "-n2", "-c2", "--hint=nomultithread"], ["env"]))
    assert (job.hosts, job.tasks, job.cpus_per_task, job.threads_per_core) == (HOSTS[:2], (1, 1), 2, 1)


def test_a_heterogeneous_job(tmp_path):
    """The same job in itself, in a step of its second component, and in one of both."""
    steps = ["env", "srun -Q --het-group=1 env", "srun -Q --het-group=0,1 -n1 env | sort -u"]
    for job in map(find_job, environments(tmp_path, ["-N2", "-n4", ":", "-N1", "-n1"], steps)):
        assert (job.hosts, job.cpus, job.tasks) == (("n1", "n2", "n3"), (2, 2, 1), (2, 2, 1))
        assert job.notices == ("the Slurm job has 2 components: 3 hosts together",)
