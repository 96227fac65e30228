"""Environments of Slurm jobs, as srun(1), sbatch(1) and salloc(1) of 22.05 to 26.05 describe them."""

from __future__ import annotations

import pytest

from hopbytes.machines.node.job import JobInfo, find_job

FOUR = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-4]", "SLURM_JOB_CPUS_PER_NODE": "32(x4)",
        "SLURM_JOB_NUM_NODES": "4"}  # fmt: skip
HET = {"SLURM_JOB_ID": "1", "SLURM_HET_SIZE": "2"}
HOSTS = ("n1", "n2", "n3", "n4")

#: Environment, and the job it means.
ENVIRONMENTS = {
    # sbatch -N4: Slurm fills in a task per CPU that nobody asked for.
    "no tasks asked for": (FOUR | {"SLURM_TASKS_PER_NODE": "32(x4)"}, JobInfo("Slurm", HOSTS, (32,) * 4)),
    "sbatch -n 16": (
        FOUR | {"SLURM_NTASKS": "16", "SLURM_NPROCS": "16", "SLURM_TASKS_PER_NODE": "4(x4)"},
        JobInfo("Slurm", HOSTS, (32,) * 4, (4,) * 4),
    ),
    "--ntasks-per-node=8 -c 4": (
        FOUR | {"SLURM_NTASKS_PER_NODE": "8", "SLURM_TASKS_PER_NODE": "8(x4)", "SLURM_CPUS_PER_TASK": "4"},
        JobInfo("Slurm", HOSTS, (32,) * 4, (8,) * 4, 4),
    ),
    # 22.05 and later: srun takes SRUN_CPUS_PER_TASK and leaves the other aside.
    "SRUN_CPUS_PER_TASK": (
        FOUR | {"SLURM_CPUS_PER_TASK": "4", "SRUN_CPUS_PER_TASK": "2"},
        JobInfo("Slurm", HOSTS, (32,) * 4, None, 2),
    ),
    # 23.11 and later: also for -c.
    "--tres-per-task": (
        FOUR | {"SLURM_TRES_PER_TASK": "cpu=8,gres/gpu=1"}, JobInfo("Slurm", HOSTS, (32,) * 4, None, 8)
    ),
    "--tres-per-task of GPUs alone": (
        FOUR | {"SLURM_TRES_PER_TASK": "gres/gpu:1"}, JobInfo("Slurm", HOSTS, (32,) * 4)
    ),
    "--tres-per-task as typed": (
        FOUR | {"SLURM_TRES_PER_TASK": "gres/gpu:1,cpu:8"}, JobInfo("Slurm", HOSTS, (32,) * 4, None, 8)
    ),
    "--hint=nomultithread": (
        FOUR | {"SLURM_CPUS_PER_TASK": "4", "SLURM_HINT": "nomultithread", "SLURM_THREADS_PER_CORE": "1"},
        JobInfo("Slurm", HOSTS, (32,) * 4, None, 4, threads_per_core=1),
    ),
    "--hint=compute_bound": (
        FOUR | {"SLURM_HINT": "compute_bound"}, JobInfo("Slurm", HOSTS, (32,) * 4, threads_per_core=1)
    ),
    "--threads-per-core=2": (
        FOUR | {"SLURM_THREADS_PER_CORE": "2"}, JobInfo("Slurm", HOSTS, (32,) * 4, threads_per_core=2)
    ),
    # A step on all hosts of the job, without --exact or --overlap or with them: the same variables.
    "a step on all hosts": (
        FOUR | {"SLURM_NTASKS": "6", "SLURM_TASKS_PER_NODE": "2(x2),1(x2)", "SLURM_STEP_NODELIST": "n[1-4]",
                "SLURM_STEP_NUM_NODES": "4", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1(x2)"},
        JobInfo("Slurm", HOSTS, (32,) * 4, (2, 2, 1, 1)),
    ),
    "the older name of the list": ({"SLURM_NODELIST": "a,b"}, JobInfo("Slurm", ("a", "b"))),
}  # fmt: skip


@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_environments(what):
    environment, job = ENVIRONMENTS[what]
    assert find_job(environment) == job


@pytest.mark.parametrize(
    ("step", "said"),
    [
        # salloc with LaunchParameters=use_interactive_step, and srun --pty on one host.
        ({"SLURM_STEP_NODELIST": "n1", "SLURM_NTASKS": "1", "SLURM_TASKS_PER_NODE": "1"}, "a step on 1 host"),
        ({"SLURM_STEP_NODELIST": "n[2-3]", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}, "2 hosts"),
        ({"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "1(x4)"}, "2 hosts"),
        ({"SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}, "counts of a step"),
    ],
)  # fmt: skip
def test_a_step_on_some_hosts_means_the_job(step, said):
    """What is started next goes to all hosts of the job; counts of tasks are those of the step."""
    job = find_job(FOUR | step)
    assert (job.hosts, job.cpus, job.tasks) == (HOSTS, (32,) * 4, None)
    assert said in job.notices[0]


def test_cpus_of_fewer_hosts_are_not_used():
    job = find_job(FOUR | {"SLURM_JOB_CPUS_PER_NODE": "32(x2)"})
    assert (job.hosts, job.cpus) == (HOSTS, None)
    assert "SLURM_JOB_CPUS_PER_NODE is that of 2 hosts, not of 4" in job.notices[0]


def component(group, **variables):
    return {f"SLURM_{name}_HET_GROUP_{group}": value for name, value in variables.items()}


FIRST = component(0, JOB_NODELIST="n[1-2]", JOB_CPUS_PER_NODE="32(x2)", NTASKS="4", TASKS_PER_NODE="2(x2)",
                  CPUS_PER_TASK="4")  # fmt: skip
SECOND = component(1, JOB_NODELIST="g1", JOB_CPUS_PER_NODE="8", NTASKS="1", TASKS_PER_NODE="1",
                   CPUS_PER_TASK="4")  # fmt: skip


def test_components_of_a_heterogeneous_job():
    job = find_job(HET | FIRST | SECOND | {"SLURM_JOB_NODELIST": "n[1-2]"})
    assert (job.hosts, job.cpus, job.tasks) == (("n1", "n2", "g1"), (32, 32, 8), (2, 2, 1))
    assert job.cpus_per_task == 4
    assert job.notices == ("the Slurm job has 2 components: 3 hosts together",)
    # The first one under plain names, components that differ, a host in both.
    plain = {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "32(x2)", "SLURM_CPUS_PER_TASK": "2"}
    job = find_job(HET | plain | SECOND | component(1, JOB_NODELIST="n2"))
    assert (job.hosts, job.cpus, job.tasks, job.cpus_per_task) == (("n1", "n2"), (32, 40), None, None)
    assert "different numbers of CPUs per task" in job.notices[1]


def test_components_that_are_not_described():
    """Never the first component alone in silence."""
    job = find_job(HET | {"SLURM_HET_SIZE": "3", "SLURM_JOB_NODELIST": "n[1-2]"} | FIRST | SECOND)
    assert job.hosts == ("n1", "n2", "g1")
    assert "without SLURM_JOB_NODELIST_HET_GROUP_2" in job.notices[1]
    step = {"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_CPUS_PER_NODE": "2(x2)", "SLURM_NTASKS": "6",
            "SLURM_TASKS_PER_NODE": "2(x3)"}  # fmt: skip
    job = find_job(HET | step)
    assert (job.hosts, job.cpus, job.tasks) == (("n1", "n2", "n3"), None, (2, 2, 2))
    assert "only the hosts in SLURM_JOB_NODELIST are known (3)" in job.notices[0]
