"""Ask the nodes of a job what they are: one small shell program on each of them, one machine out of all."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from hopbytes.errors import FormatError
from hopbytes.machines.kinds.machine import Stored
from hopbytes.machines.node.job import JobInfo, find_job, same_host
from hopbytes.machines.node.node_tree import NodeInventory, errors_about
from hopbytes.machines.node.sysfs import PATTERNS, add_file, node_from_files
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.text.cpu_lists import parse_list
from hopbytes.text.hostlist import HOST_NAME, read_slots
from hopbytes.text.lines import natural_key
from hopbytes.util.programs import lines_of_program

#: Where messages say the fault is.
WHERE = "probe"
#: Options of launchers that name a file of hosts.
HOST_FILES = ("hostfile", "machinefile", "default-hostfile", "f")
LINE = re.compile(r"#hopbytes (\S{1,255}) (allowed|file|end) ?(.*)", re.ASCII)


def probe_to_file(command: Sequence[str], output: str, *, force: bool = False) -> str:
    """Store the machine that :func:`probe` returns, complete or not at all, and describe it in a sentence."""
    from hopbytes.formats.files import atomic_write, may_write
    from hopbytes.machines.kinds.machine import machine_text

    if output != "-":
        may_write(output, force)
    machine = probe(command)
    atomic_write({output: machine_text(machine, f"probe: {' '.join(command)}"[:500])})
    nodes, kinds = machine.inventory.n_nodes, len(machine.inventory.trees)
    alike = "one kind" if kinds == 1 else f"{kinds} kinds"
    return f"{nodes} node{'s' * (nodes > 1)} of {alike}, {machine.n_cores} hardware threads"


def probe(command: Sequence[str]) -> NodeMachine:
    """Start the probe on every node and return the machine they make; processes may share nodes."""
    # Nodes need a POSIX shell and ``/sys``; ``taskset`` when the launcher binds.
    job = _host_file_of(command) or find_job(os.environ)
    words = [*command, "sh", "-c", script()]
    return read_probe(lines_of_program(words, expected="a command that starts programs"), job)


def _host_file_of(command: Sequence[str]) -> JobInfo | None:
    """Return the hosts of the command's own file of hosts with the slots it gives each; None without one."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        name, equals, value = word.lstrip("-").partition("=")
        path = value if equals else following
        if word.startswith("-") and name in HOST_FILES and os.path.isfile(path):
            hosts, slots = read_slots(path)
            names = tuple(platform.node() if host == "localhost" else host for host in hosts)
            return JobInfo("host file", names, None, slots)
    return None


def script() -> str:
    """Return the probe program, one line of POSIX sh."""
    text = files("hopbytes").joinpath("machines/node/probe.sh").read_text()
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return "; ".join(lines).replace("@PATTERNS@", " ".join(PATTERNS))


@dataclass
class _Host:
    """What one host printed."""

    allowed: set[int] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    promised: int = 0


def read_probe(lines: Iterable[str], job: JobInfo | None = None) -> NodeMachine:
    """Build the machine from what probes printed; other lines are ignored."""
    hosts: dict[str, _Host] = {}
    for line in lines:
        match = LINE.search(line.rstrip("\n"))
        if match is None or not HOST_NAME.fullmatch(match[1]):
            continue
        name, kind, text = match.groups()
        host = hosts.setdefault(name, _Host())
        host.lines += 1
        if kind == "allowed":
            host.allowed |= parse_list(text, f"{WHERE} of {name}")
        elif kind == "file":
            path, _, content = text.rpartition(":")  # PCI addresses have colons too
            add_file(host.files, path, content)
        elif kind == "end" and text.isdecimal():
            host.promised += int(text[:9])
    if not hosts:
        raise FormatError(WHERE, None, "no node answered, expected one process on every node of the job")
    for name, host in hosts.items():
        if not host.promised or host.lines != host.promised:
            what = f"{host.lines} of {host.promised or 'an unknown number of'} lines arrived from {name}"
            raise FormatError(WHERE, None, f"{what}, expected all: run it again")
    names, job = _in_order(list(hosts), job)
    trees = []
    for name, real in names:
        host, where = hosts[real], f"{WHERE} of {name}"
        with errors_about(where):
            trees.append(node_from_files(host.files, host.allowed or None, where=where))
    job = None if job is None else job.with_cores([int(tree.cores[-1]) + 1 for tree in trees])
    return Stored("machine:", NodeInventory.of(trees), tuple(name for name, _ in names), job=job)


def _in_order(hosts: list[str], job: JobInfo | None) -> tuple[list[tuple[str, str]], JobInfo | None]:
    """Pairs of the name the job uses and the name the host uses for itself, and the job if it fits."""
    if job is not None:
        pairs = [(name, next((host for host in hosts if same_host(name, host)), None)) for name in job.hosts]
        matched = [(name, host) for name, host in pairs if host is not None]
        if len(matched) == len(hosts) == len(job.hosts):
            return matched, job
    return [(host, host) for host in sorted(hosts, key=natural_key)], None
