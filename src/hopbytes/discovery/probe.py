"""Build a machine from the nodes of a job: a small shell program on each node prints its hardware."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from hopbytes._util.programs import run_program
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.common.node_machine import NodeMachine, distinct
from hopbytes.machines.kinds.machine import Stored
from hopbytes.machines.node.job_environment import Job, find_job, read_slots, same_host
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.machines.node.sysfs import PATTERNS, node_from_files
from hopbytes.textio.cpu_lists import parse_list
from hopbytes.textio.hostlist import HOST_NAME

#: Source of faults in error messages.
WHERE = "probe"
#: Options of launchers that name a file of hosts, and the notations of slots in such a file.
HOST_FILES = ("hostfile", "machinefile", "default-hostfile", "f")
SLOTS = re.compile(r"^[^#\n]*(\bslots=|:)[0-9]", re.MULTILINE)
MAX_HOST_FILE = 2**26
LINE = re.compile(r"#hopbytes (\S{1,255}) (allowed|file|end) ?(.*)", re.ASCII)


def probe(command: Sequence[str]) -> NodeMachine:
    """Run the probe program on every node and return the machine that consists of these nodes.

    Parameters
    ----------
    command : sequence of str
        The launch command that starts one process on every node of the job, such as
        ``["srun", "-N16", "--ntasks-per-node=1"]`` or ``["mpirun", "--map-by", "ppr:1:node"]``. The probe
        program is appended.

    Returns
    -------
    NodeMachine
        One node per host, with the CPUs that a process may use after it has removed its binding. Inside a job
        the hosts have the order of the job, otherwise they are sorted by name, with numbers in numerical
        order. A host file in the command that contains slots is treated like a job.

    Raises
    ------
    UnsupportedError
        The command is not found or fails.
    FormatError
        There is no output, or it is incomplete or malformed.

    Notes
    -----
    Nodes need a POSIX shell and ``/sys``, and ``taskset`` if the launcher binds processes. The command may
    start several processes on a node.
    """
    job = _host_file_of(command) or find_job(os.environ)
    return read_probe(_output([*command, "sh", "-c", script()]), job)


def _host_file_of(command: Sequence[str]) -> Job | None:
    """Return the hosts and slots of the host file in the command, or None if no host file has slots."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        name, equals, value = word.lstrip("-").partition("=")
        path = value if equals else following
        if word.startswith("-") and name in HOST_FILES and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                has_slots = SLOTS.search(file.read(MAX_HOST_FILE))
            hosts, slots = read_slots(path)
            names = tuple(platform.node() if host == "localhost" else host for host in hosts)
            return Job("host file", names, None, slots) if has_slots else None
    return None


def script() -> str:
    """Return the probe program as one line of POSIX sh."""
    text = files("hopbytes").joinpath("machines/node/probe.sh").read_text()
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return "; ".join(lines).replace("@PATTERNS@", " ".join(PATTERNS))


def _output(command: Sequence[str]) -> list[str]:
    printed, code = run_program(command, expected="a command that starts programs")
    if code:
        raise UnsupportedError(f"{' '.join(command[:-3])[:80]}: failed with exit code {code}, expected 0")
    return printed.splitlines()


@dataclass
class _Host:
    """The output of the probe program on one host; `announced` is the number of lines that it printed."""

    allowed: set[int] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    announced: int = 0


def read_probe(lines: Iterable[str], job: Job | None = None) -> NodeMachine:
    """Build the machine from the output of the probe programs; other lines are ignored.

    Parameters
    ----------
    lines : iterable of str
        Lines of all nodes in any order; launchers may put labels before them.
    job : Job, optional
        The job whose order of hosts and slots are used if its host names match those of the output.

    Raises
    ------
    FormatError
        There is no output, lines of a host are missing, or a list of CPUs is malformed.
    """
    outputs: dict[str, _Host] = {}
    for line in lines:
        found = LINE.search(line.rstrip("\n"))
        if found is None or not HOST_NAME.fullmatch(found[1]):
            continue
        host = outputs.setdefault(found[1], _Host())
        host.lines += 1
        if found[2] == "allowed":
            host.allowed |= parse_list(found[3], f"{WHERE} of {found[1]}")
        elif found[2] == "file":
            path, _, content = found[3].rpartition(":")  # the path may have colons, too, in PCI addresses
            host.files[path] = content
        elif found[2] == "end" and found[3].isdecimal():
            host.announced += int(found[3][:9])
    if not outputs:
        raise FormatError(WHERE, None, "no node answered, expected one process on every node of the job")
    for name, host in outputs.items():
        if not host.announced or host.lines != host.announced:
            what = f"{host.lines} of {host.announced or 'an unknown number of'} lines arrived from {name}"
            raise FormatError(WHERE, None, f"{what}, expected all lines: probe again")
    names, job = _in_order(list(outputs), job)
    trees = [_node(name, outputs[real]) for name, real in names]
    nodes, which = distinct(trees)
    return Stored("machine:", nodes, which, tuple(name for name, _ in names), its_job=job)


def _node(name: str, host: _Host) -> NodeTree:
    try:
        return node_from_files(host.files, host.allowed or None, where=f"{WHERE} of {name}")
    except HopbytesError as error:
        what = error.what if isinstance(error, FormatError) else str(error)
        raise FormatError(f"{WHERE} of {name}", None, what) from None


def _in_order(hosts: list[str], job: Job | None) -> tuple[list[tuple[str, str]], Job | None]:
    """Return pairs of the job's name and the host's own name of every host, and the job if names match."""
    if job is not None:
        pairs = [(name, next((host for host in hosts if same_host(name, host)), None)) for name in job.hosts]
        matched = [(name, host) for name, host in pairs if host is not None]
        if len(matched) == len(hosts) == len(job.hosts):
            return matched, job
    return [(host, host) for host in sorted(hosts, key=_with_numbers)], None


def _with_numbers(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders n9 before n10."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"([0-9]+)", name)]


def probe_to_file(command: Sequence[str], output: str, *, force: bool = False) -> str:
    """Write the machine that :func:`probe` returns to a file, and return a description of the machine.

    Raises
    ------
    UnsupportedError, FormatError
        See :func:`probe`; also if the file exists and was not written by hopbytes, unless `force`.
    """
    from hopbytes.formats.files import atomic_write, may_write
    from hopbytes.machines.common.stored_file import machine_text

    if output != "-":
        may_write(output, force)
    machine = probe(command)
    atomic_write({output: machine_text(machine, f"probe: {' '.join(command)}"[:500])})
    nodes, kinds = len(machine.tree_of_node), len(machine.nodes)
    alike = "one kind" if kinds == 1 else f"{kinds} kinds"
    return f"{nodes} node{'s' * (nodes > 1)} of {alike}, {machine.n_cores} hardware threads"
