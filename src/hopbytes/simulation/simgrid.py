"""Grade ``replay``: a round, or a recorded trace, as actions of MPI processes that SimGrid replays."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from hopbytes._arrays import Array, Bool, Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, MissingPackageError, UnsupportedError, printable
from hopbytes.formats.base import MARK
from hopbytes.formats.patterns.traces import trace_actions
from hopbytes.kernels.routes import Routes
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.bound import BATCH, Phase, Ports, Round
from hopbytes.simulation.links import NodeLinks, Speeds, copy_speeds
from hopbytes.text.leftovers import name_of_process, remove_left
from hopbytes.text.lines import shown

#: Bytes of a message that SimGrid's MPI can count.
MOST_BYTES = 2**30
#: Seconds that SimGrid may take at most on an unloaded core, roughly, times the square of the number of
#: messages: those of unlike sizes on a large network.
COST = 1e-6
#: Hosts up to which a platform has the routes of all pairs.
ALL_PAIRS = 256
HEAD = (
    f'<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<!-- {MARK} -->\n'
    '<platform version="4.1">\n<zone id="machine" routing="Full">\n'
)
#: Actions of which every rank may send to every other one.
TO_ALL = frozenset(
    ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "gatherv", "scatter", "scatterv",
     "allgather", "allgatherv", "alltoall", "alltoallv")
)  # fmt: skip
#: Sends and receives, which before SimGrid 3.20 had no tag.
TAGGED = (b"send", b"isend", b"recv", b"irecv")
#: Actions that are passed on, and those whose second value is an amount of computation.
PASSED = {
    *(name.encode() for name in TO_ALL), *TAGGED, b"init", b"finalize", b"comm_size", b"comm_split",
    b"comm_dup", b"ssend", b"issend", b"sendrecv", b"wait", b"waitall", b"test",
}  # fmt: skip
COMPUTING = (b"reduce", b"allreduce", b"scan", b"exscan")
#: Computation, which is no part of the prediction.
LEFT_OUT = (b"compute", b"sleep")
VALUE = re.compile(rb"-?\d{1,18}(\.\d{1,18})?([eE]\+?\d{1,2})?")
PROGRAM = "smpirun"
#: A message takes latency + bytes / bandwidth, and flows share links fairly: no corrections for TCP.
PLAIN = (
    "--cfg=network/model:CM02", "--cfg=network/crosstraffic:no", "--cfg=network/TCP-gamma:0",
    "--cfg=network/weight-S:0", "--cfg=network/latency-factor:1", "--cfg=network/bandwidth-factor:1",
    "--cfg=network/optim:Full", "--cfg=smpi/host-speed:1Gf",
)  # fmt: skip
#: Bytes below which SimGrid's MPI sends data before the receive is posted, and lets the sender go on.
THRESHOLDS = ("send-is-detached-thresh", "async-small-thresh")
QUIET = ("--log=root.thresh:error", "--log=smpi_utils.thresh:info", "--log=root.fmt:%.15r|%m%n")
TIME = re.compile(r"^([0-9.]+(?:e[+-]?[0-9]+)?)\|Simulated time", re.MULTILINE)
#: Printed where processes wait forever, after which the simulator ends as if all was well.
STUCK = "Deadlock detected"
#: Characters of the program's last words that an error message has.
SHOWN = 160


@frozen(eq=False)
class Platform:
    """What a platform file is made of: one host per port, its links, and the routes of pairs."""

    links: NodeLinks
    ports: Ports
    where: Allocation  # gives hosts their names
    copy: tuple[float, float]  # bytes per second and seconds of messages inside a host

    @property
    def hosts(self) -> list[str]:
        """Name of every host: that of its node, and its endpoint where a node has several."""
        names = self.where.hosts
        nodes = self.ports.node.tolist()
        base = [names[node] if names else f"n{node}" for node in nodes]
        if len(set(nodes)) == len(nodes):
            return base
        return [f"{name}-{end}" for name, end in zip(base, self.ports.endpoint.tolist(), strict=True)]

    def slowed(self, factor: float) -> Platform:
        """Return the platform with 1 / factor of the bandwidths."""
        links = dataclasses.replace(self.links, capacity=self.links.capacity / factor)
        return dataclasses.replace(self, links=links, copy=(self.copy[0] / factor, self.copy[1]))

    def text(self, sources: Int64, targets: Int64) -> Iterator[bytes]:
        """Yield the file, with directed routes of pairs of ports; each takes a single path."""
        names, (rate, wait) = self.hosts, self.copy
        routes, used = self._routes(sources, targets)
        yield HEAD.encode()
        rows = [f'<host id={quoteattr(name)} speed="1000000000.0f" core="1024"/>' for name in names]
        rows += [
            _link(f"l{link}", self.links.capacity[link], self.links.latency[link], "SHARED")
            for link in np.flatnonzero(used).tolist()
        ]
        rows += [_link(f"copy{number}", rate, wait, "FATPIPE") for number in range(len(names))]
        # One of these links per host: one that all flows share would make them a single large problem.
        rows += [_link(f"message{at}", 1e15, self.links.message, "FATPIPE") for at in range(len(names))]
        rows += [
            f"<route src={quoteattr(name)} dst={quoteattr(name)}><link_ctn id=\"copy{number}\"/></route>"
            for number, name in enumerate(names)
        ]
        yield ("\n".join(rows) + "\n").encode()
        yield from routes
        yield b"</zone>\n</platform>\n"

    def _routes(self, sources: Int64, targets: Int64) -> tuple[list[bytes], Bool]:
        """Return the lines of routes, and which links they take."""
        names, ends, unit = self.hosts, self.ports.endpoint, self.ports.unit
        used = np.zeros(len(self.links.capacity), bool)
        pieces: list[bytes] = []
        for start in range(0, len(sources), BATCH):
            part = slice(start, start + BATCH)
            routes = self._single_paths(ends[sources[part]], ends[targets[part]])
            used[routes.links] = True
            bounds, taken, lines = routes.indptr.tolist(), routes.links.tolist(), []
            for pair, (a, b) in enumerate(zip(sources[part].tolist(), targets[part].tolist(), strict=True)):
                crossed = [f"l{link}" for link in taken[bounds[pair] : bounds[pair + 1]]]
                if self.links.message or not crossed:
                    crossed.insert(0, f"message{a}")
                if unit[a] == unit[b]:
                    crossed = [f"copy{a}"]
                body = "".join(f'<link_ctn id="{link}"/>' for link in crossed)
                ways = f"src={quoteattr(names[a])} dst={quoteattr(names[b])}"
                lines.append(f'<route {ways} symmetrical="NO">{body}</route>\n')
            pieces.append("".join(lines).encode())
        return pieces, used

    def _single_paths(self, sources: Int32, targets: Int32) -> Routes:
        """Return the links between endpoints, of one of the paths where flows are spread over several."""
        routes, wiring = self.links.routes(sources, targets), self.links.wiring
        if routes.numerators is None:
            return routes
        if wiring is None:
            raise UnsupportedError("simulate: flows are spread over several paths, expected grade bound")
        starts, paths = [0], []
        for pair, (a, b) in enumerate(zip(sources, targets, strict=True)):
            links = np.unique(routes.links[routes.indptr[pair] : routes.indptr[pair + 1]])
            paths += _one_path(links, wiring.tail, wiring.head, int(wiring.at[a]), int(wiring.at[b]), pair)
            starts.append(len(paths))
        return Routes(np.array(starts, np.int64), np.array(paths, np.int64), None, None)


def _link(name: str, bandwidth: float, latency: float, policy: str) -> str:
    values = f'bandwidth="{float(bandwidth)!r}Bps" latency="{float(latency)!r}s"'
    return f'<link id="{name}" {values} sharing_policy="{policy}"/>'


def _one_path(links: Int64, tail: Int64, head: Int64, start: int, end: int, shift: int) -> list[int]:
    """Return one of the shortest paths over some links; `shift` chooses among equal ones."""
    leaving: dict[int, list[int]] = {}
    for link in np.roll(links, shift).tolist():
        leaving.setdefault(int(tail[link]), []).append(link)
    came: dict[int, int] = {start: -1}
    ahead = [start]
    while ahead and end not in came:
        reached: list[int] = []
        for vertex in ahead:
            for link in leaving.get(vertex, ()):
                other = int(head[link])
                if other not in came:
                    came[other] = link
                    reached.append(other)
        ahead = reached
    path: list[int] = []
    while end in came and end != start:
        path.append(came[end])
        end = int(tail[came[end]])
    return path[::-1]


def platform_of(mapping: Mapping, load: Round, speeds: Speeds | None) -> Platform:
    """Return the platform of the ports of a mapping."""
    return Platform(load.links, load.ports, mapping.where, copy_speeds(mapping.where, speeds))


def _every_pair(count: int) -> tuple[Int64, Int64]:
    sources, targets = np.divmod(np.arange(count * count, dtype=np.int64), max(1, count))
    apart = sources != targets
    return sources[apart], targets[apart]


def platform_file(platform: Platform, load: Round) -> Iterator[bytes]:
    """Yield the platform with the routes of all pairs, or of those that exchange messages on many hosts."""
    all_pairs = len(load.ports.node) <= ALL_PAIRS
    pairs = _every_pair(len(load.ports.node)) if all_pairs else (load.flows.sources, load.flows.targets)
    return platform.text(*pairs)


def replay_seconds(platform: Platform, load: Round, phase: Phase, mapping: Mapping, timeout: float) -> float:
    """Return the simulated seconds of all messages of a round, one process per task."""
    ports, pairs = load.ports, (load.flows.sources, load.flows.targets)
    if len(np.unique(ports.node)) < len(ports.node):  # ports of one node exchange messages as well
        pairs = _every_pair(len(ports.node))
    hosts = [platform.hosts[port] for port in ports.of_task.tolist()] if len(ports.node) else []
    apart = mapping.pe[phase.sources] != mapping.pe[phase.targets]
    sizes = phase.bytes[apart]
    # Where a size is more than an int of MPI holds, sizes and bandwidths have a larger unit than bytes.
    unit = float(sizes.max(initial=0.0)) / MOST_BYTES
    if unit > 1:
        platform, sizes = platform.slowed(unit), sizes / unit
    acts = actions(phase.sources[apart], phase.targets[apart], sizes, phase.tasks)
    return simulated_seconds(platform.text(*pairs), hosts, acts, timeout=timeout)


def trace_seconds(
    platform: Platform, load: Round, path: str, tasks: int, bytes_scale: float, timeout: float,
    eager: int | None = None,
) -> float:
    """Return the simulated seconds of a recorded trace; messages up to `eager` bytes travel at once."""
    acts, ports = list(actions_in_order(path, tasks)), load.ports
    between_any = len(ports.node) <= ALL_PAIRS or any(act.split(" ", 2)[1] in TO_ALL for act in acts)
    pairs = _every_pair(len(ports.node)) if between_any else (load.flows.sources, load.flows.targets)
    hosts = [platform.hosts[port] for port in ports.of_task.tolist()]
    words = () if eager is None else tuple(f"--cfg=smpi/{name}:{eager + 1}" for name in THRESHOLDS)
    text = platform.slowed(bytes_scale).text(*pairs)
    return simulated_seconds(text, hosts, acts, timeout=timeout, options=words)


def actions(sources: Array, targets: Array, volumes: Float64, tasks: int) -> Iterable[str]:
    """Yield the trace of one round: every process starts all of its messages and waits for them."""
    sizes = np.maximum(np.ceil(volumes), 0).astype(np.int64)
    steps: list[list[str]] = [[] for _ in range(tasks)]
    for source, target, size in zip(sources.tolist(), targets.tolist(), sizes.tolist(), strict=True):
        steps[target].append(f"{target} irecv {source} 0 {size} 6")
        steps[source].append(f"{source} isend {target} 0 {size} 6")
    for task, own in enumerate(steps):
        yield f"{task} init"
        yield from own
        if own:
            yield f"{task} waitall"
        yield f"{task} finalize"


def actions_in_order(path: str, tasks: int) -> Iterator[str]:
    """Yield the actions of a trace as SimGrid 3.20 and later reads them, without computation."""
    begun, ended = set[int](), set[int]()
    for lines, fields in trace_actions(path):
        action, values = fields[1].lower(), fields[2:]
        if action in LEFT_OUT:
            continue
        if action not in PASSED:
            known = ", ".join(sorted(action.decode() for action in PASSED))
            raise lines.error(f"{shown(fields[1])}, expected an action that can be replayed ({known})")
        for value in (fields[0], *values):
            if not VALUE.fullmatch(value):
                raise lines.error(f"{shown(value)}, expected a number")
        rank = int(fields[0]) if fields[0].isdigit() else -1
        if not 0 <= rank < tasks:
            raise lines.error(f"rank {shown(fields[0])}, expected 0 to {tasks - 1}")
        if action == b"init":
            begun.add(rank)
        elif action == b"finalize":
            ended.add(rank)
        elif rank not in begun:
            raise lines.error(f"rank {rank} begins with {shown(fields[1])}, expected init")
        if action in TAGGED and len(values) == 2:
            values.insert(1, b"0")
        if action in COMPUTING and len(values) > 1:
            values[1] = b"0"
        yield b" ".join((str(rank).encode(), action, *values)).decode()
    if len(begun) < tasks:
        raise HopbytesError(f"{path}: {len(begun)} of {tasks} ranks begin, expected all of them")
    for rank in sorted(begun - ended):
        yield f"{rank} finalize"


def check_installed() -> None:
    """Raise MissingPackageError unless SimGrid's MPI is in PATH."""
    if shutil.which(PROGRAM) is None:
        raise MissingPackageError(
            f"grade replay needs SimGrid's {PROGRAM}, which is not in PATH (Debian: apt install "
            "libsimgrid-dev); the default, grade flows, needs nothing"
        )


def simulated_seconds(
    platform: Iterable[bytes], hosts: Sequence[str], actions: Iterable[str], *, timeout: float,
    options: Sequence[str] = (),
) -> float:
    """Replay actions of MPI processes on a platform and return the simulated seconds."""
    remove_left(tempfile.gettempdir(), "hopbytes-")
    with tempfile.TemporaryDirectory(prefix=name_of_process("hopbytes-")) as folder:
        names = {name: os.path.join(folder, name) for name in ("platform.xml", "hosts", "actions", "list")}
        try:
            with open(names["platform.xml"], "wb") as stream:
                stream.writelines(platform)
            for name, lines in (("hosts", hosts), ("actions", actions), ("list", [names["actions"]])):
                with open(names[name], "w") as text:
                    text.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise UnsupportedError(f"{folder}: cannot be written: {error.strerror}") from None
        words = [
            PROGRAM, "-np", str(len(hosts)), "-platform", names["platform.xml"], "-hostfile", names["hosts"],
            *PLAIN, *QUIET, *options, "--cfg=smpi/display-timing:yes", "--cfg=smpi/simulate-computation:no",
            "-replay", names["list"],
        ]  # fmt: skip
        printed, code = _run_alone(words, folder, timeout)
    time = TIME.search(printed)
    if STUCK in printed:
        raise HopbytesError(
            f"{PROGRAM}: some processes wait for messages that no process sends, expected a complete trace"
        )
    if code or time is None:
        lines = [line.partition("|")[2] or line for line in printed.splitlines() if line.strip()]
        first = printable(lines[0])[:SHOWN] if lines else "it printed nothing"
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        what = f"{PROGRAM} {ended} and printed no time: {first}"
        raise HopbytesError(f"{what} (grade flows needs no simulator)")
    return float(time[1])


def _run_alone(words: Sequence[str], folder: str, timeout: float) -> tuple[str, int]:
    """Run a program and all it starts as a group of processes, which is killed at the end."""
    path = os.path.join(folder, "printed")
    with open(path, "wb") as printed:
        try:
            child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise UnsupportedError(f"{words[0]}: {error.strerror}, expected SimGrid's {PROGRAM}") from None
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise HopbytesError(
                f"{words[0]} did not end within {timeout:g} seconds and was stopped (`time_limit` gives it "
                "more; grade flows needs no simulator)"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(2**20), code
