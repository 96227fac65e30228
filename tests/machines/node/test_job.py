"""Jobs as resource managers describe them to their processes."""

import json

import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.allocate.allocate import cores_of_a_task
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.kinds.local import nodes_of
from hopbytes.machines.kinds.machine import machine_text
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.job import JobInfo, find_job, read_flux, same_host
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine


def test_pbs_counts_lines(tmp_path):
    path = tmp_path / "nodes"
    path.write_text("n2.cluster\nn2.cluster\nn1.cluster\n")
    job = find_job({"PBS_NODEFILE": str(path), "NCPUS": "16", "OMP_NUM_THREADS": "8"})
    assert job == JobInfo("PBS", ("n2.cluster", "n1.cluster"), (16, 16), (2, 1), 8)


def test_lsf_in_both_forms():
    assert find_job({"LSB_MCPU_HOSTS": "h1 16 h2 8"}) == JobInfo("LSF", ("h1", "h2"), (16, 8))
    assert find_job({"LSB_HOSTS": "h1 h1 h2"}) == JobInfo("LSF", ("h1", "h2"), (2, 1))


def test_names_of_one_host():
    assert same_host("n1", "n1.site")
    assert same_host("n1.site", "n1")
    assert not same_host("10", "10.0.0.1")
    assert not same_host("10.0.0.1", "10.0.0.2")


@pytest.mark.parametrize("name", ["LSB_MCPU_HOSTS", "LSB_HOSTS"])
def test_lsf_with_a_list_that_is_blank(name):
    with refused(FormatError, "LSB_MCPU_HOSTS", "without a host name"):
        find_job({name: " "})
    assert find_job({name: " ", "LSB_HOSTS": "h1"}).hosts == ("h1",)


def test_lsf_leaves_out_the_host_that_starts_the_job(tmp_path):
    """Where jsrun starts programs; elsewhere a host with one slot is one of the job."""
    variables = {"LSB_MCPU_HOSTS": "batch2 1 a01n01 42 a01n02 42", "PATH": str(tmp_path)}
    assert find_job(variables) == JobInfo("LSF", ("batch2", "a01n01", "a01n02"), (1, 42, 42))
    (tmp_path / "jsrun").touch(0o755)
    job = find_job(variables)
    assert job.hosts == ("a01n01", "a01n02")
    assert "batch2" in job.notices[0]
    scattered = find_job(variables | {"LSB_MCPU_HOSTS": "h1 1 h2 1 h3 2"})
    assert scattered == JobInfo("LSF", ("h1", "h2", "h3"), (1, 1, 2))


def write(path, text):
    path.write_text(text)
    return str(path)


def test_files_of_lsf(tmp_path):
    """LSB_DJOB_HOSTFILE has a line for every slot, LSB_AFFINITY_HOSTFILE one with its CPUs for every task."""
    hosts = write(tmp_path / "hosts", "h1\nh1\nh2\n")
    assert find_job({"LSB_DJOB_HOSTFILE": hosts}) == JobInfo("LSF", ("h1", "h2"), (2, 1))
    own = {"LSB_MCPU_HOSTS": "h1 2 h2 1", "LSB_DJOB_HOSTFILE": hosts}
    affinity = write(tmp_path / "affinity", "h1 0,1\nh1 2,3 0 1\nh2 0-1\n")
    expected = JobInfo("LSF", ("h1", "h2"), (4, 2), (2, 1), 2)
    assert find_job(own | {"LSB_AFFINITY_HOSTFILE": affinity}) == expected
    for text in ("", "h1 0,1\n", "h3 0\n", "h1\n", "h1 x\n"):  # LSF makes an empty one without affinity
        affinity = write(tmp_path / "affinity", text)
        assert find_job(own | {"LSB_AFFINITY_HOSTFILE": affinity}) == JobInfo("LSF", ("h1", "h2"), (2, 1))


def test_pbs_variables_that_do_not_fit(tmp_path):
    """Without ompthreads OMP_NUM_THREADS may be ncpus, and NCPUS the threads of one task."""
    nodes = write(tmp_path / "nodes", "n1\n" * 16 + "n2\n" * 16)
    for threads, cpus in (("16", "16"), ("4", "4"), ("2", "16")):
        job = find_job({"PBS_NODEFILE": nodes, "NCPUS": cpus, "OMP_NUM_THREADS": threads})
        assert (job.hosts, job.cpus, job.tasks, job.cpus_per_task) == (("n1", "n2"), None, (16, 16), None)
        assert f"OMP_NUM_THREADS={threads}" in job.notices[0]
        assert f"NCPUS={cpus}" in job.notices[0]
    once = write(tmp_path / "once", "n1\nn2\n")  # select=2:ncpus=16: a task each, for Open MPI too
    job = find_job({"PBS_NODEFILE": once, "NCPUS": "16", "OMP_NUM_THREADS": "16", "PBS_NUM_PPN": "1"})
    assert job == JobInfo("PBS", ("n1", "n2"), (16, 16), (1, 1), 16)


def test_oar_and_grid_engine(tmp_path):
    path = tmp_path / "nodes"
    path.write_text("n1\nn1\nn2\nn2\n")
    assert find_job({"OAR_NODEFILE": str(path)}) == JobInfo("OAR", ("n1", "n2"), (2, 2))
    path.write_text("n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n")
    assert find_job({"PE_HOSTFILE": str(path)}) == JobInfo("Grid Engine", ("n1", "n2"), None, (4, 2))


def test_grid_engine_without_numbers(tmp_path):
    with pytest.raises(FormatError, match="HOST SLOTS QUEUE"):
        find_job({"PE_HOSTFILE": write(tmp_path / "nodes", "n1\n")})


@pytest.mark.parametrize(("name", "system"), [
    ("PRTE_MCA_prte_default_hostfile", "Open MPI"), ("OMPI_MCA_orte_default_hostfile", "Open MPI"),
    ("HYDRA_HOST_FILE", "MPICH"), ("I_MPI_HYDRA_HOST_FILE", "Intel MPI"),
])  # fmt: skip
def test_default_host_files(tmp_path, name, system):
    """As the MPI operator of Kubernetes sets them."""
    path = write(tmp_path / "hosts", "n[1-2] slots=4 max_slots=8\nn3:2\nn4\n")
    job = find_job({name: path})
    assert job == JobInfo(f"host file of {system}", ("n1", "n2", "n3", "n4"), None, (4, 4, 2, None))
    full = job.with_cores((8, 8, 8, 6))
    assert full.tasks == (4, 4, 2, 6)
    assert "slots= or :N for n4: as many tasks as cores" in full.notices[0]
    assert full.with_cores((1, 1, 1, 1)) is full


def test_flux():
    text = json.dumps({"version": 1, "execution": {
        "R_lite": [{"rank": "0-2", "children": {"core": "0-47", "gpu": "0-3"}},
                   {"rank": "3", "children": {"core": "0-23"}}],
        "nodelist": ["n[0-2]", "fat"], "starttime": 0, "expiration": 0,
    }})  # fmt: skip
    assert read_flux(text) == JobInfo("Flux", ("n0", "n1", "n2", "fat"), (48, 48, 48, 24))


SOCKETS = {"socket": [{"numa": [{"cores": "0-1", "gpus": "0"}, {"cores": "2-3"}]},
                      {"numa": [{"cores": "4-5"}, {"cores": "6-7", "gpus": "1"}]}]}  # fmt: skip


def flux_resources(scheduling, ranks="7-8", cores="0-7"):
    execution = {"R_lite": [{"rank": ranks, "children": {"core": cores}}], "nodelist": ["n[0-1]"]}
    return json.dumps({"version": 1, "execution": execution, "scheduling": scheduling})


def test_flux_says_the_units_inside_nodes():
    """As TreePool writes them; ranks are counted anew in an instance inside another."""
    children = [{"ranks": "3", "topo": SOCKETS}, {"ranks": "5", "topo": {"cores": "0-7", "memory": 128}}]
    job = read_flux(flux_resources({"children": children, "writer": "TreePool"}, cores="1-6"))
    (first, own), (second, _) = job.trees
    assert (first.count("package"), first.count("numa"), first.count("core")) == (2, 4, 8)
    assert (second.count("package"), second.count("core")) == (0, 8)
    assert [(gpu.index, gpu.pus) for gpu in first.gpus] == [(0, (0, 1)), (1, (6, 7))]
    assert job.cpus == (6, 6)
    trees, warnings = nodes_of(job, read_synthetic("pack:1 core:4 pu:2"), "login")
    assert [tree.os_pus.tolist() for tree in trees] == [[1, 2, 3, 4, 5, 6]] * 2
    assert warnings[0].startswith("2 hosts are unlike login: their CPUs")
    assert own == frozenset(range(1, 7))
    alike, warnings = nodes_of(job, read_synthetic("pack:2 numa:2 core:2 pu:2"), "login")
    assert alike[0].os_pus.tolist() == list(range(2, 14)), "numbers of this host, where it has the same units"
    assert len(warnings) == 1
    assert "1 host of the job taken to be like it" in warnings[0], "nobody said that n1 has packages"


def test_flux_with_the_graph_of_fluxion():
    nodes = [{"metadata": {"type": "cluster", "id": 0, "rank": -1, "paths": {"containment": "/c0"}}}]
    for rank in (0, 1):
        paths = [("node", rank, f"/c0/n{rank}")]
        for socket in (0, 1):
            paths.append(("socket", socket, f"/c0/n{rank}/socket{socket}"))
            paths += [("core", 2 * socket + core, f"/c0/n{rank}/socket{socket}/core{2 * socket + core}")
                      for core in (0, 1)]  # fmt: skip
        nodes += [{"metadata": {"type": kind, "id": number, "rank": rank, "paths": {"containment": path}}}
                  for kind, number, path in paths]  # fmt: skip
    job = read_flux(flux_resources({"graph": {"nodes": nodes, "edges": []}}, ranks="0-1", cores="0-3"))
    assert [(tree.count("package"), tree.os_pus.tolist()) for tree, _ in job.trees] == [(2, [0, 1, 2, 3])] * 2


def test_what_another_scheduler_writes_is_left_alone():
    too_few = {"children": [{"ranks": "0", "topo": SOCKETS}]}
    for scheduling in (None, {}, {"writer": "other:x", "data": 1}, too_few):
        assert read_flux(flux_resources(scheduling)).trees is None


@pytest.mark.parametrize("scheduling", [
    {"children": 7}, {"children": [{"ranks": "0-1"}]}, {"children": [{"ranks": "0-1", "topo": []}]},
    {"children": [{"ranks": "0-1", "topo": {"socket": [{"cores": "0-3"}, {"cores": "3-7"}]}}]},
    {"children": [{"ranks": "0-1", "topo": {"cores": "0-3"}}]},
    {"children": [{"ranks": "x", "topo": SOCKETS}]},
    {"graph": {"nodes": [{"metadata": {"type": "core", "id": 0, "paths": {"containment": "/core0"}}}]}},
    {"graph": {"nodes": [1]}},
])  # fmt: skip
def test_units_of_flux_with_a_fault(scheduling):
    with pytest.raises(HopbytesError) as caught:
        read_flux(flux_resources(scheduling))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("environment", "words"), [
    ({"SLURM_JOB_NODELIST": "n[1-"}, "SLURM_JOB_NODELIST"),
    ({"SLURM_JOB_NODELIST": "n1,n1"}, "host 'n1' twice"),
    ({"SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "many"}, "expected counts like"),
    ({"PBS_NODEFILE": "/nowhere"}, "/nowhere: cannot be read"),
    ({"PBS_NODEFILE": "/dev/null"}, "/dev/null: a device"),
    ({"LSB_MCPU_HOSTS": "h1 16 h2"}, "expected HOST SLOTS"),
    ({"LSB_MCPU_HOSTS": "h;1 16"}, "host name"),
    ({"LSB_DJOB_HOSTFILE": "/nowhere"}, "/nowhere: cannot be read"),
    ({"SLURM_JOB_NODELIST": "n1", "SLURM_STEP_NODELIST": "n[1-"}, "SLURM_STEP_NODELIST"),
    ({"SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "1(x1048576),1"}, "more than 1048576"),
])  # fmt: skip
def test_environments_with_a_fault(environment, words):
    with refused(HopbytesError, words):
        find_job(environment)


NO_FLUX = ["", "{}", "[]", '{"execution": {"nodelist": ["a"], "R_lite": [{"rank": "7"}]}}']


@pytest.mark.parametrize("text", NO_FLUX)
def test_what_is_no_flux(text):
    with pytest.raises(FormatError, match=r"resource\.R"):
        read_flux(text)


def test_flux_asks_for_the_job_or_for_its_instance(tmp_path, monkeypatch):
    """A job of the system instance knows FLUX_JOB_ID, one in an instance of its own does not (runat.c)."""
    resources = {"execution": {"R_lite": [{"rank": "17,19", "children": {"core": "0-3"}},
                                          {"rank": "18", "children": {"core": "0-1"}}],
                               "nodelist": ["n[17-19]"]}}  # fmt: skip
    flux = tmp_path / "flux"
    flux.write_text(f"#!/bin/sh\necho \"$*\" > {tmp_path}/asked\necho '{json.dumps(resources)}'\n")
    flux.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    slurm = {"SLURM_JOB_NODELIST": "other[1-9]"}  # Flux was started by Slurm
    expected = JobInfo("Flux", ("n17", "n18", "n19"), (4, 2, 4))
    for more, asked in (({"FLUX_JOB_ID": "f2q"}, "job info f2q R\n"), ({}, "kvs get resource.R\n")):
        assert find_job({"FLUX_URI": "local:///x", **slurm, **more}) == expected
        assert (tmp_path / "asked").read_text() == asked


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
    where = hb.allocate(job_machine(tasks=(5, 2)))
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], n=7)
    assert hb.map_tasks(graph, where).tasks_per_pe().reshape(2, 8).sum(axis=1).tolist() == [5, 2]
    other = hb.CommGraph.from_edges([0, 1], [1, 2], n=6)
    assert hb.map_tasks(
        other, hb.allocate(where, spread=True)
    ).tasks_per_pe().reshape(2, 8).sum(axis=1).tolist() == [3, 3]
    graph_on_one = hb.allocate(job_machine(tasks=(5, 2)), hosts="a")
    assert graph_on_one.tasks_of_nodes is None


def test_cores_per_task_where_tasks_use_one_thread_of_a_core():
    machine = job_machine(cpus_per_task=4, threads_per_core=1)
    assert cores_of_a_task(machine) == 4
    assert hb.allocate(machine).k == 4
    again = machine_text(machine, "test")
    assert '"threads_per_core": 1' in again


def test_cores_per_task_are_the_jobs():
    assert cores_of_a_task(job_machine(cpus_per_task=4)) == 2, "CPUs of this job are hardware threads"
    assert hb.allocate(job_machine(cpus_per_task=4)).k == 8
    assert hb.allocate(job_machine(cpus_per_task=4), cores_per_task=1).k == 16
    assert hb.allocate(job_machine()).k == 16


def test_a_host_file_without_slots_leaves_the_tasks_to_the_launcher(tmp_path):
    """Open MPI takes as many slots as cores: two tasks go to the first host, not one to each."""
    cores = hb.allocate("local").k
    where = hb.allocate(f"job:{write(tmp_path / 'hosts', 'a' + chr(10) + 'b' + chr(10))}")
    assert where.tasks_of_nodes is None
    assert any("has no slots= or :N for a and 1 more" in notice for notice in where.notices)
    graph = hb.CommGraph.from_edges([0], [1], [2**20], n=2)
    if cores > 1:
        assert where.node_of_pe[hb.map_tasks(graph, where).pe].tolist() == [0, 0]
    where = hb.allocate(f"job:{write(tmp_path / 'hosts', f'a slots=1{chr(10)}b{chr(10)}')}")
    assert where.tasks_of_nodes.tolist() == [1, cores]


def test_localhost_is_this_host(tmp_path):
    where = hb.allocate(f"job:{write(tmp_path / 'hosts', 'localhost slots=1')}")
    assert not any("taken to be like it" in notice for notice in where.notices)


def test_mpirun_fills_no_host_beyond_its_slots():
    where = hb.allocate(job_machine(tasks=(3, 5)))
    assert where.node_of_pe[launcher_placement(where, 6, "fill").pe].tolist() == [0, 0, 0, 1, 1, 1]
    assert where.node_of_pe[launcher_placement(where, 8, "fill").pe].tolist() == [0] * 3 + [1] * 5
    assert where.node_of_pe[launcher_placement(where, 9, "fill").pe].tolist() == [0] * 8 + [1]


def test_more_tasks_than_slots_are_said():
    (told,) = [notice for notice in hb.allocate(job_machine(tasks=(9, 8))).notices if "asks for" in notice]
    assert "the Slurm job asks for 9 tasks on a, but 8 slots were found there" in told


def test_a_host_file_is_a_job(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("a slots=2\nb slots=1\n")
    where = hb.allocate(f"job:{path}")
    assert where.hosts == ("a", "b")
    assert where.tasks_of_nodes.tolist() == [2, 1]
    assert where.machine.spec() == f"job:{path}"
    assert "hopbytes probe" in where.notices[0]


def test_not_inside_a_job(monkeypatch):
    import os

    for name in list(os.environ):
        if name.startswith(("SLURM", "PBS", "LSB", "OAR", "PE_", "FLUX", "PRTE", "OMPI", "HYDRA", "I_MPI")):
            monkeypatch.delenv(name)
    with pytest.raises(UnsupportedError, match="not inside a job"):
        hb.allocate("job")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with pytest.raises(UnsupportedError, match="WORLD_SIZE is set, but no variable names the hosts"):
        hb.allocate("job")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with pytest.raises(UnsupportedError, match="SLURM_JOB_ID is set, but SLURM_JOB_NODELIST is not"):
        hb.allocate("job")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "elsewhere[1-2]")
    assert hb.allocate("job").hosts == ("elsewhere1", "elsewhere2")
    assert "is not among the hosts of this Slurm job" in hb.allocate("local").notices[0]


FOUR = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-4]", "SLURM_JOB_CPUS_PER_NODE": "32(x4)",
        "SLURM_JOB_NUM_NODES": "4"}  # fmt: skip
HET = {"SLURM_JOB_ID": "1", "SLURM_HET_SIZE": "2"}
HOSTS = ("n1", "n2", "n3", "n4")

#: Environment, and the job it means.
ENVIRONMENTS = {
    "outside any job": ({"HOME": "/"}, None),
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
    "ranges and counts": (
        {"SLURM_JOB_NODELIST": "n[001-003],gpu1", "SLURM_JOB_CPUS_PER_NODE": "72(x3),36", "SLURM_NTASKS": "7",
         "SLURM_TASKS_PER_NODE": "2(x3),1", "SLURM_CPUS_PER_TASK": "4"},
        JobInfo("Slurm", ("n001", "n002", "n003", "gpu1"), (72, 72, 72, 36), (2, 2, 2, 1), 4),
    ),
    "the older name of the list": ({"SLURM_NODELIST": "a,b"}, JobInfo("Slurm", ("a", "b"))),
}  # fmt: skip


@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_environments(what):
    environment, job = ENVIRONMENTS[what]
    assert find_job(environment) == job


@pytest.mark.parametrize(("step", "said"), [
    # salloc with LaunchParameters=use_interactive_step, and srun --pty on one host.
    ({"SLURM_STEP_NODELIST": "n1", "SLURM_NTASKS": "1", "SLURM_TASKS_PER_NODE": "1"}, "a step on 1 host"),
    ({"SLURM_STEP_NODELIST": "n[2-3]", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}, "2 hosts"),
    ({"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "1(x4)"}, "2 hosts"),
    ({"SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}, "counts of a step"),
])  # fmt: skip
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
    for words, threads in ((("2", "2"), 2), (("2", "1"), None)):
        used = [component(group, THREADS_PER_CORE=word) for group, word in enumerate(words)]
        assert find_job(HET | FIRST | SECOND | used[0] | used[1]).threads_per_core == threads


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
