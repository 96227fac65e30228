"""Chooses the file of a recording, and the command to suggest after it."""

from __future__ import annotations

import math
import os
import platform
import shlex

from hopbytes.errors import HopbytesError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.start import machine_of_command
from hopbytes.machines.node.job_environment import READERS, same_host
from hopbytes.machines.selection.allocate import machine as parsed_machine
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import recorded_hosts


def target_of(output: str, graph: CommGraph) -> str:
    """Return the file for a pattern; that of an interrupted run does not replace an existing recording.

    >>> target_of("-", CommGraph.from_edges([0], [1], n=2, meta={"recorded": {"cut": 2}}))
    '-'
    """
    cut = graph.meta.get("recorded", {}).get("cut")
    if not cut or output == "-" or not os.path.lexists(output):
        return output
    root, suffix = os.path.splitext(output)
    return f"{root}.cut{suffix}"


def next_step(output: str, words: list[str], graph: CommGraph, launcher: str | None = None) -> list[str]:
    """Return the next command to type: map for the hosts of the command, for the job, or for this host.

    If the recorded processes do not fit there, the command is advise with an example of a machine that they
    fit on, and a line before it says why.
    """
    if output == "-":
        return []
    machine = machine_of_command(LaunchCommand.parse(words, launcher, several=True))
    in_job = any(os.environ.get(sign) for sign, _ in READERS)
    hosts = recorded_hosts(graph) or []
    if machine == "job" and not in_job:
        machine = "local" if all(same_host(host, platform.node()) for host in hosts) else "job"
    elsewhere = machine == "job" and not in_job
    obstacle = f"{hosts[0]} is in no job known here" if elsewhere else _obstacle(machine, graph.n)
    if obstacle is None:
        return [f"now: hopbytes map {shlex.quote(output)} --on {shlex.quote(machine)}"]
    nodes = len(set(hosts)) if len(set(hosts)) > 1 else math.isqrt(max(graph.n - 1, 0)) + 1
    cores = max(1, -(-graph.n // nodes))
    example = f"node:{-(-graph.n // cores)} core:{cores}"
    return [
        f"--on {machine}: {obstacle}; describe the machine where the program will run, for example:",
        f"now: hopbytes advise {shlex.quote(output)} --on '{example}'",
    ]


def _obstacle(machine: str, n: int) -> str | None:
    """Say why n tasks cannot be mapped to a machine; None if they can, or if only a job will tell."""
    try:
        where = parsed_machine(machine)
    except HopbytesError as error:
        return str(error)
    if n <= where.k:
        return None
    return f"{n} processes, but {where.k} cores were found"
