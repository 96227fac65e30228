"""The command to type after a recording: one that does what it says."""

from __future__ import annotations

import os
import shlex

import pytest

import hopbytes as hb
from hopbytes.machines.node.job import READERS
from hopbytes.record.session import next_step

HERE = os.uname().nodename


@pytest.fixture(autouse=True)
def outside_jobs(monkeypatch, tmp_path_factory):
    """No job, and a stand-in for the launcher, which need not be installed."""
    for sign, _ in READERS:
        monkeypatch.delenv(sign, raising=False)
    launcher = tmp_path_factory.mktemp("bin") / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 5.0.11'\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", str(launcher.parent), prepend=os.pathsep)


def recorded_on(*hosts):
    return hb.CommGraph.from_edges([0], [1], n=len(hosts), meta={"recorded": {"hosts": list(hosts)}})


def suggested(graph, *options):
    """Verb and machine of the last line, and the lines before it."""
    words = ["mpirun", *options, "-n", str(graph.n), "./app"]
    *before, last = next_step("a.pattern", words, graph, "openmpi")
    now, program, verb, pattern, on, machine = shlex.split(last)
    assert (now, program, pattern, on) == ("now:", "hopbytes", "a.pattern", "--on")
    return verb, machine, before


def test_more_processes_than_this_host_has_cores():
    cores = hb.allocate("local").k
    verb, machine, (why,) = suggested(recorded_on(*[HERE] * (cores * 8)))
    assert verb == "advise"
    assert f"{cores * 8} processes, but {cores} cores" in why
    assert hb.allocate(machine).k >= cores * 8
    verb, machine, before = suggested(recorded_on(*[HERE] * max(2, cores)))
    assert (verb, machine, before) == ("map", "local", []) or cores == 1


def test_slots_of_a_host_file_beyond_the_cores_found(tmp_path):
    cores = hb.allocate("local").k
    path = tmp_path / "hosts"
    path.write_text("".join(f"n{node} slots={2 * cores}\n" for node in range(4)))
    graph = recorded_on(*[f"n{task // (2 * cores)}" for task in range(8 * cores)])
    verb, machine, before = suggested(graph, "--hostfile", str(path))
    assert (verb, machine, len(before)) == ("advise", f"node:4 core:{2 * cores}", 1)
    half = recorded_on(*["n0"] * 4 * cores)
    assert suggested(half, "--hostfile", str(path)) == ("map", f"job:{path}", [])
    (told,) = [notice for notice in hb.allocate(f"job:{path}").notices if "asks for" in notice]
    assert f"asks for {2 * cores} tasks on n0 and 3 more hosts, but {cores} slot" in told


def test_hosts_of_no_job_and_files_that_cannot_be_read(tmp_path):
    verb, machine, (why,) = suggested(recorded_on("n1", "n1", "n2", "n2"))
    assert (verb, machine) == ("advise", "node:2 core:2")
    assert "n1 is in no job known here" in why
    path = tmp_path / "hosts"
    path.write_text("n1 cores=4\n")
    verb, machine, (why,) = suggested(recorded_on("n1", "n1", "n2", "n2"), "--hostfile", str(path))
    assert (verb, machine) == ("advise", "node:2 core:2")
    assert "hosts:1: 'n1 cores=4'" in why
