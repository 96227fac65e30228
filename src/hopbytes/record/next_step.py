"""Where a recording goes, and what to type after it."""

from __future__ import annotations

import os
import platform
import shlex

from hopbytes.launching.command import LaunchCommand
from hopbytes.launching.start import machine_said
from hopbytes.machines.node.job_environment import READERS, same_host
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.origin import recorded_hosts


def target_of(output: str, graph: CommGraph) -> str:
    """Return where a pattern is written: a run that was cut short takes no whole recording's place.

    Examples
    --------
    >>> target_of("-", CommGraph.from_edges([0], [1], n=2, meta={"recorded": {"cut": 2}}))
    '-'
    """
    cut = graph.meta.get("recorded", {}).get("cut")
    if not cut or output == "-" or not os.path.lexists(output):
        return output
    root, suffix = os.path.splitext(output)
    return f"{root}.cut{suffix}"


def next_step(output: str, words: list[str], graph: CommGraph, launcher: str | None = None) -> list[str]:
    """Return what to type next: map for the command's own hosts, for the job, or for this computer alone.

    Parameters
    ----------
    output : str
        Where the pattern was written; nothing follows from standard output.
    words : list of str
        The command that was recorded.
    graph : CommGraph
    launcher : str, optional
        What its launcher is like.
    """
    if output == "-":
        return []
    said = machine_said(LaunchCommand.parse(words, launcher, several=True))
    in_job = any(os.environ.get(sign) for sign, _ in READERS)
    if said == "job" and not in_job:
        hosts = recorded_hosts(graph) or []
        said = "local" if all(same_host(host, platform.node()) for host in hosts) else "job"
    return [f"now: hopbytes map {shlex.quote(output)} --on {shlex.quote(said)}"]
