"""Run the ping-pong program under MPI and store the measured latencies and bandwidths in a machine."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.launch.command import build_program
from hopbytes.machines.base import Level, Machine
from hopbytes.machines.delegating import MeasuredMachine
from hopbytes.machines.distances import TreeDistance
from hopbytes.machines.node.job import same_host
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.text.cpu_lists import parse_list
from hopbytes.text.leftovers import name_of_process, remove_left
from hopbytes.util.programs import lines_of_program

WHERE = re.compile(r"#hopbytes-measure where ([0-9]{1,9}) (\S{1,255}) ([0-9,-]*) \.")
TIME = re.compile(r"#hopbytes-measure time ([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,12}) (\S{1,40}) \.")
SIZES_DONE = re.compile(r"#hopbytes-measure sizes ([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,9}) \.")
#: Message sizes in bytes; small messages determine the latency, large ones the bandwidth.
SIZES = (1, 64, 512, 4096, 16384, 65536, 262144, 1048576, 4194304)
PAIRS_PER_LEVEL = 3
#: Approximate number of bytes in a batch, and bounds of its number of round trips.
BATCH_BYTES, MOST_ROUNDS, FEWEST_ROUNDS = 2**22, 200, 2
FEWEST_BATCHES = 5
#: Seconds for all pairs together.
TIME_LIMIT = 120.0
#: Measured distances are the nanoseconds of a message of this size.
REFERENCE_BYTES = 8192
#: Hint for ranks that do not form one MPI world.
OTHER_MPI = "is the program's MPI the launcher's? (`compiler` of that MPI, or mpi4py of that MPI)"


@frozen
class Rank:
    """Host name of a rank, and the CPUs that it may use (numbers of the operating system)."""

    host: str
    cpus: frozenset[int]


@frozen
class Fit:
    """Latency in seconds, bandwidth in bytes per second, and the largest relative error of the fit."""

    latency: float
    bandwidth: float
    error: float


@frozen
class Measured:
    """A machine with measured levels, and the quality of the fit for each level."""

    machine: Machine
    #: fits by the name of the level, outermost first, for levels at which two ranks differ
    fits: dict[str, Fit]
    pairs: dict[str, int]  # number of pairs that were measured for each level


def measure_to_file(
    command: Sequence[str], where: Allocation, output: str, *, force: bool = False, **options: Any
) -> str:
    """Write the machine that :func:`measure` returns to a file and return a table as text."""
    from hopbytes.formats.files import atomic_write, may_write
    from hopbytes.machines.kinds.machine import machine_text

    if output != "-":
        may_write(output, force)
    measured = measure(command, where, **options)
    atomic_write({output: machine_text(measured.machine, f"measure: {' '.join(command)}"[:500])})
    return table(measured)


def table(measured: Measured) -> str:
    """Return one line per measured level, outermost first.

    >>> from hopbytes.machines.spec import parse_machine
    >>> print(table(Measured(parse_machine("core:2@3"), {"core": Fit(2.5e-7, 8e9, 0.01)}, {"core": 1})))
    level  pairs  latency     bandwidth  worst fit  distance (ns of 8192 bytes, or unchanged)
    core       1  0.250 us    8.00 GB/s        1%  3
    """
    distance = {level.name: level.distance for level in measured.machine.levels}
    width = max(len("level"), *map(len, measured.fits))
    head = f"{'level':<{width}}  pairs  latency     bandwidth  worst fit  "
    rows = [f"{head}distance (ns of {REFERENCE_BYTES} bytes, or unchanged)"]
    for name, fit in measured.fits.items():
        rows.append(
            f"{name:<{width}}  {measured.pairs[name]:>5}  {fit.latency * 1e6:.3f} us  "
            f"{fit.bandwidth / 1e9:>6.2f} GB/s  {fit.error:>8.0%}  {distance[name]}"
        )
    return "\n".join(rows)


def measure(
    command: Sequence[str], where: Allocation, *, compiler: str | None = None, batches: int = FEWEST_BATCHES,
    sizes: Sequence[int] = SIZES, keep_distances: bool = False, time_limit: float = TIME_LIMIT,
    announce: Callable[[str], None] | None = None,
) -> Measured:
    """Measure latency and bandwidth of every level of a machine."""
    # The program runs once to print host and CPUs of every rank, then once for each level: up to three pairs
    # of ranks for which this is the outermost level at which they differ exchange messages, one pair at a
    # time.
    if not isinstance(where.distance, TreeDistance):
        spec = where.machine.spec()[:60]
        what = "the machine has no levels to measure, expected a tree, slurm:, hwloc:, job or local"
        raise UnsupportedError(f"'{spec}': {what}")
    if batches < FEWEST_BATCHES:
        raise FormatError("`batches`", None, f"{batches}, expected at least {FEWEST_BATCHES}")
    remove_left(tempfile.gettempdir(), "hopbytes-")
    with tempfile.TemporaryDirectory(prefix=name_of_process("hopbytes-")) as folder:
        running = [*command, *_program(compiler, folder)]
        pes = pes_of_ranks(read_ranks(_output([*running, "where"])), where)
        pairs = pairs_of_levels(where, pes)
        if not pairs:
            raise InfeasibleError(f"{len(pes)} ranks, expected two or more on different slots")
        names = [level.name for level in where.machine.levels]
        share = time_limit / sum(map(len, pairs.values()))
        rounds = [max(FEWEST_ROUNDS, min(MOST_ROUNDS, BATCH_BYTES // (size + 1))) for size in sizes]
        sweep = ",".join(f"{size}:{count}" for size, count in zip(sizes, rounds, strict=True))
        fits = {}
        for number, (level, chosen) in enumerate(pairs.items(), 1):
            if announce is not None:
                many = f"{len(chosen)} pair{'s' * (len(chosen) > 1)} of ranks"
                limit = f"at most about {share * len(chosen):.0f} seconds"
                announce(f"level {names[level]} ({number} of {len(pairs)}): {many}, {limit}")
            plan = ",".join(f"{a}-{b}" for a, b in chosen)
            words = [*running, "run", str(batches), sweep, plan, f"{share:.3f}"]
            lines = _output(words, marker="#hopbytes-measure time")
            fits[names[level]] = fit(_times_of_level(lines, chosen, sizes, batches))
    machine = with_measured(where.machine, fits, keep_distances)
    return Measured(machine, fits, {names[level]: len(chosen) for level, chosen in pairs.items()})


def _program(compiler: str | None, folder: str) -> list[str]:
    """Return how the ping-pong starts: built by the compiler given, by mpi4py, else by mpicc."""
    if compiler is None and find_spec("mpi4py") is not None:
        return [sys.executable, str(files("hopbytes").joinpath("launch/pingpong.py"))]
    if compiler is None and shutil.which("mpicc") is None:
        what = "neither mpi4py is installed nor mpicc found, expected one of them (`compiler='mpicc'`)"
        raise UnsupportedError(f"measure: {what}")
    return [build_program(compiler or "mpicc", "pingpong.c", os.path.join(folder, "pingpong"))]


def _output(command: Sequence[str], marker: str = "") -> list[str]:
    return lines_of_program(command, marker=marker, expected="a command that starts MPI", hint=OTHER_MPI)


def read_ranks(lines: Sequence[str]) -> list[Rank]:
    """Return the host and CPUs that every rank printed; FormatError if ranks are missing or repeated."""
    ranks: dict[int, Rank] = {}
    for line in lines:
        for number, host, cpus in WHERE.findall(line):
            if int(number) in ranks:
                what = f"rank {number} occurs twice, expected ranks of one MPI world"
                raise FormatError("measure", None, f"{what}: {OTHER_MPI}")
            ranks[int(number)] = Rank(host, frozenset(parse_list(cpus, "measure")))
    if not ranks or sorted(ranks) != list(range(len(ranks))):
        what = f"{len(ranks)} ranks printed their hosts"
        raise FormatError("measure", None, f"{what}, expected all ranks: does the command start MPI ranks?")
    return [ranks[number] for number in range(len(ranks))]


def pes_of_ranks(ranks: Sequence[Rank], where: Allocation) -> list[int]:
    """Return the PE on which every rank runs."""
    known = [_pe_of(rank, where) for rank in ranks] if where.os_pus(0) is not None else []
    pes = [pe for pe in known if pe is not None]
    if known and len(pes) == len(ranks) and len(set(pes)) == len(pes):
        return pes
    if len(ranks) == where.k:
        return list(range(where.k))
    raise InfeasibleError(
        f"{len(ranks)} ranks on {where.k} slots, not bound to one slot each; expected ranks bound to one "
        f"core each (mpirun --bind-to core, srun --cpu-bind=cores), or exactly {where.k} of them in order"
    )


def _pe_of(rank: Rank, where: Allocation) -> int | None:
    hosts = where.hosts
    nodes = int(where.machine.node_of_core()[-1]) + 1
    node = next((i for i, host in enumerate(hosts) if same_host(rank.host, host)), None)
    if node is None and hosts and nodes > 1:
        raise FormatError("measure", None, f"a rank runs on {rank.host!r}, expected a host of the machine")
    if nodes == 1:
        node = 0
    if node is None or not rank.cpus:
        return None
    for pe in np.flatnonzero(where.node_of_pe == node).tolist():
        own = where.os_pus(pe)
        if own is not None and rank.cpus <= set(own):
            return int(pe)
    return None


def pairs_of_levels(where: Allocation, pes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Choose pairs of ranks for every level that is the outermost one at which some ranks differ."""
    machine = where.machine
    cores = where.first_core[np.asarray(pes, np.int64)]
    outer = np.zeros(len(cores), np.int64)
    chosen: dict[int, list[tuple[int, int]]] = {}
    for level in range(len(machine.levels)):
        units = machine.ancestors(level)[cores].astype(np.int64)
        pairs = []
        for unit in np.unique(outer):
            ranks = np.flatnonzero(outer == unit)
            inner, first = np.unique(units[ranks], return_index=True)
            if len(inner) > 1:  # take ranks of the first and the last unit, which are farthest apart
                pairs.append((int(ranks[first[0]]), int(ranks[first[-1]])))
        if pairs:
            numbers = sorted({0, len(pairs) // 2, len(pairs) - 1})[:PAIRS_PER_LEVEL]
            chosen[level] = [pairs[number] for number in numbers]
        outer = units
    return chosen


def _times_of_level(
    lines: Sequence[str], pairs: Sequence[tuple[int, int]], sizes: Sequence[int], batches: int
) -> dict[int, list[float]]:
    """Return the seconds by message size that pairs of a level printed; FormatError if some are missing."""
    times = read_times(lines)
    done = {(int(a), int(b)): int(count) for line in lines for a, b, count in SIZES_DONE.findall(line)}
    by_size: dict[int, list[float]] = {}
    for pair in pairs:
        for size in sizes[: done.get(pair, len(sizes))]:
            own = times.get((*pair, size), [])
            if len(own) != batches:
                what = f"{len(own)} of {batches} times of ranks {pair[0]} and {pair[1]}, {size} bytes"
                raise FormatError("measure", None, f"{what} arrived, expected all: measure again")
            by_size.setdefault(size, []).extend(own)
    return by_size


def read_times(lines: Sequence[str]) -> dict[tuple[int, int, int], list[float]]:
    """Return the measured seconds by first rank, second rank and message size."""
    times: dict[tuple[int, int, int], list[float]] = {}
    for line in lines:
        for a, b, size, text in TIME.findall(line):
            try:
                times.setdefault((int(a), int(b), int(size)), []).append(float(text))
            except ValueError:
                raise FormatError("measure", None, f"time {text[:20]!r}, expected seconds") from None
    return times


def fit(times: Mapping[int, Sequence[float]]) -> Fit:
    """Fit ``latency + size / bandwidth`` to times of messages."""
    sizes = sorted(times)
    seconds = np.array([median(times[size]) for size in sizes])
    if len(sizes) < 2 or seconds.min() <= 0:
        what = "fewer than two sizes, or times of 0"
        raise FormatError("measure", None, f"{what}, expected a sweep of sizes with times above 0")
    bytes_sent = np.array(sizes, float)
    weighted = np.column_stack([1 / seconds, bytes_sent / seconds])
    (latency, per_byte), *_ = np.linalg.lstsq(weighted, np.ones(len(sizes)), rcond=None)
    if latency < 0:
        latency = 0.0
        per_byte = float((weighted[:, 1] @ np.ones(len(sizes))) / (weighted[:, 1] @ weighted[:, 1]))
    if per_byte <= 0:
        what = "the times of messages do not increase with their size"
        raise FormatError("measure", None, f"{what}, expected increasing times")
    predicted = latency + per_byte * bytes_sent
    return Fit(float(latency), float(1 / per_byte), float(np.abs(predicted / seconds - 1).max()))


def with_measured(machine: Machine, fits: dict[str, Fit], keep_distances: bool) -> Machine:
    """Return the machine with measured latency, bandwidth and, unless `keep_distances`, distances."""
    # A level without a measurement gets the distance of the next inner level.
    tiers: list[Level] = []
    inner = 0
    for level in reversed(machine.levels):
        line = fits.get(level.name)
        if line is not None:
            level = replace(level, latency=line.latency, bandwidth=line.bandwidth)
            inner = max(inner, round((line.latency + REFERENCE_BYTES / line.bandwidth) * 1e9))
        tiers.append(level if keep_distances else replace(level, distance=inner))
    outermost_first = tuple(reversed(tiers))
    if isinstance(machine, Tree):
        return replace(machine, tiers=outermost_first)
    if isinstance(machine, NodeMachine):
        return replace(machine, known_tiers=outermost_first, replaced={})
    base = machine.topology if isinstance(machine, MeasuredMachine) else machine
    base = base.with_distances({tier.name: tier.distance for tier in outermost_first})
    return MeasuredMachine(base, outermost_first)
