"""Jobs as resource managers describe them to their processes."""

import json

import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.common.node_machine import NodeMachine
from hopbytes.machines.kinds.job import nodes_of
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.node.job_environment import find_job, read_flux
from hopbytes.machines.node.job_info import JobInfo
from hopbytes.machines.selection.allocate import cores_of_a_task
from hopbytes.textio.host_file import read_slots


def test_no_job_outside_any():
    assert find_job({"HOME": "/"}) is None


def test_slurm():
    job = find_job({
        "SLURM_JOB_NODELIST": "n[001-003],gpu1", "SLURM_JOB_CPUS_PER_NODE": "72(x3),36",
        "SLURM_TASKS_PER_NODE": "2(x3),1", "SLURM_NTASKS": "7", "SLURM_CPUS_PER_TASK": "4",
    })  # fmt: skip
    assert job == JobInfo("Slurm", ("n001", "n002", "n003", "gpu1"), (72, 72, 72, 36), (2, 2, 2, 1), 4)


def test_slurm_fills_in_tasks_nobody_asked_for():
    job = find_job({"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "72(x2)"})
    assert job == JobInfo("Slurm", ("a", "b"))


def test_pbs_counts_lines(tmp_path):
    path = tmp_path / "nodes"
    path.write_text("n2.cluster\nn2.cluster\nn1.cluster\n")
    job = find_job({"PBS_NODEFILE": str(path), "NCPUS": "16", "OMP_NUM_THREADS": "8"})
    assert job == JobInfo("PBS", ("n2.cluster", "n1.cluster"), (16, 16), (2, 1), 8)


def test_lsf_in_both_forms():
    assert find_job({"LSB_MCPU_HOSTS": "h1 16 h2 8"}) == JobInfo("LSF", ("h1", "h2"), (16, 8))
    assert find_job({"LSB_HOSTS": "h1 h1 h2"}) == JobInfo("LSF", ("h1", "h2"), (2, 1))


def test_lsf_leaves_out_the_host_that_starts_the_job():
    job = find_job({"LSB_MCPU_HOSTS": "batch2 1 a01n01 42 a01n02 42"})
    assert job.hosts == ("a01n01", "a01n02")
    assert "batch2" in job.notices[0]


def test_oar_and_grid_engine(tmp_path):
    path = tmp_path / "nodes"
    path.write_text("n1\nn1\nn2\nn2\n")
    assert find_job({"OAR_NODEFILE": str(path)}) == JobInfo("OAR", ("n1", "n2"), (2, 2))
    path.write_text("n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n")
    assert find_job({"PE_HOSTFILE": str(path)}) == JobInfo("Grid Engine", ("n1", "n2"), None, (4, 2))


def test_flux():
    text = json.dumps({"version": 1, "execution": {
        "R_lite": [{"rank": "0-2", "children": {"core": "0-47", "gpu": "0-3"}},
                   {"rank": "3", "children": {"core": "0-23"}}],
        "nodelist": ["n[0-2]", "fat"], "starttime": 0, "expiration": 0,
    }})  # fmt: skip
    assert read_flux(text) == JobInfo("Flux", ("n0", "n1", "n2", "fat"), (48, 48, 48, 24))


def test_host_file_of_open_mpi(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# mine\nn[1-2] slots=4 max_slots=8\nn3:2\nn4\n")
    assert read_slots(str(path)) == (("n1", "n2", "n3", "n4"), (4, 4, 2, 1))
    assert find_job({"PRTE_MCA_prte_default_hostfile": str(path)}).tasks == (4, 4, 2, 1)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SLURM_JOB_NODELIST": "n[1-"}, "SLURM_JOB_NODELIST"),
        ({"SLURM_JOB_NODELIST": "n1,n1"}, "a host twice"),
        ({"SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "4(x2)"}, "for 1 hosts"),
        ({"SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "many"}, "expected counts like"),
        ({"PBS_NODEFILE": "/nowhere"}, "expected a file of hosts"),
        ({"PBS_NODEFILE": "/dev/null"}, "no host"),
        ({"LSB_MCPU_HOSTS": "h1 16 h2"}, "expected HOST SLOTS"),
        ({"LSB_MCPU_HOSTS": "h;1 16"}, "host name"),
    ],
)
def test_environments_with_a_fault(environment, words):
    with pytest.raises(HopbytesError) as caught:
        find_job(environment)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


NO_FLUX = ["", "{}", "[]", '{"execution": {"nodelist": ["a"], "R_lite": [{"rank": "7"}]}}']


@pytest.mark.parametrize("text", NO_FLUX)
def test_what_is_no_flux(text):
    with pytest.raises(FormatError, match=r"resource\.R"):
        read_flux(text)


def test_nodes_of_a_job_like_this_one():
    here = read_synthetic("pack:2 core:4 pu:2")
    job = JobInfo("Slurm", ("a", "b", "c", "d"), (16, 8, 4, 3))
    trees, warnings = nodes_of(job, here, "a.cluster")
    assert [len(tree.os_pus) for tree in trees] == [16, 16, 8, 6], "16 PUs or 8 cores are all of it"
    assert "only a.cluster was looked at, 3 hosts" in warnings[0]
    assert warnings[1].startswith("2 hosts have fewer CPUs")
    with pytest.raises(UnsupportedError, match=mentions("99", "16")):
        nodes_of(JobInfo("Slurm", ("a", "b"), (16, 99)), here, "a")


def job_machine(**options) -> NodeMachine:
    job = JobInfo("Slurm", ("a", "b"), (16, 16), **options)
    tree = read_synthetic("pack:2 core:4 pu:2")
    return NodeMachine("job", NodeInventory((tree,), (0, 0)), job.hosts, job=job)


def test_tasks_go_where_the_job_asked_for_them():
    where = hb.machine(job_machine(tasks=(5, 2)))
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], n=7)
    assert hb.map_tasks(graph, where).tasks_per_pe().reshape(2, 8).sum(axis=1).tolist() == [5, 2]
    other = hb.CommGraph.from_edges([0, 1], [1, 2], n=6)
    assert hb.map_tasks(other, where, spread=True).tasks_per_pe().reshape(2, 8).sum(axis=1).tolist() == [3, 3]
    graph_on_one = hb.machine(job_machine(tasks=(5, 2)), hosts="a")
    assert graph_on_one.tasks_of_nodes is None


def test_cores_per_task_are_the_jobs():
    assert cores_of_a_task(job_machine(cpus_per_task=4)) == 2, "CPUs of this job are hardware threads"
    assert hb.machine(job_machine(cpus_per_task=4)).k == 8
    assert hb.machine(job_machine(cpus_per_task=4), cores_per_task=1).k == 16
    assert hb.machine(job_machine()).k == 16


def test_a_host_file_is_a_job(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("a slots=2\nb slots=1\n")
    where = hb.machine(f"job:{path}")
    assert where.hosts == ("a", "b")
    assert where.tasks_of_nodes.tolist() == [2, 1]
    assert where.machine.spec() == f"job:{path}"
    assert "hopbytes probe" in where.notices[0]


def test_not_inside_a_job(monkeypatch):
    import os

    for name in list(os.environ):
        if name.startswith(("SLURM", "PBS", "LSB", "OAR", "PE_", "FLUX", "PRTE", "OMPI")):
            monkeypatch.delenv(name)
    with pytest.raises(UnsupportedError, match="not inside a job"):
        hb.machine("job")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "elsewhere[1-2]")
    assert hb.machine("job").hosts == ("elsewhere1", "elsewhere2")
    assert "is not among the hosts of this Slurm job" in hb.machine("local").notices[0]
