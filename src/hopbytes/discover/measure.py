"""Run the ping-pong program under MPI and store the measured latencies and bandwidths in a machine."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from importlib.util import find_spec

from hopbytes._frozen import frozen
from hopbytes.discover.fit import Fit, fit
from hopbytes.discover.plan import SIZES, RankPlace, pairs_of_levels, pes_of_ranks, rounds_of
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.machines.base import Level, Machine
from hopbytes.machines.delegating import MeasuredMachine
from hopbytes.machines.distances import TreeDistance
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.text.cpu_lists import parse_list
from hopbytes.util.leftovers import name_of_process, remove_left
from hopbytes.util.programs import START_TIMEOUT, run_program

WHERE = re.compile(r"#hopbytes-measure where ([0-9]{1,9}) (\S{1,255}) ([0-9,-]*) \.")
TIME = re.compile(r"#hopbytes-measure time ([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,12}) (\S{1,40}) \.")
SIZES_DONE = re.compile(r"#hopbytes-measure sizes ([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,9}) \.")
#: Seconds for all pairs together.
TIME_LIMIT = 120.0
#: Measured distances are the nanoseconds of a message of this size.
REFERENCE_BYTES = 8192
FEWEST_BATCHES = 5
#: Hint for ranks that do not form one MPI world.
OTHER_MPI = "is the program's MPI the launcher's? (`compiler` of that MPI, or mpi4py of that MPI)"


@frozen
class Measured:
    """A machine with measured levels, and the quality of the fit for each level."""

    machine: Machine
    #: fits by the name of the level, outermost first, for levels at which two ranks differ
    fits: dict[str, Fit]
    pairs: dict[str, int]  # number of pairs that were measured for each level


def measure(
    command: Sequence[str],
    where: Allocation,
    *,
    compiler: str | None = None,
    batches: int = FEWEST_BATCHES,
    sizes: Sequence[int] = SIZES,
    keep_distances: bool = False,
    time_limit: float = TIME_LIMIT,
    tell: Callable[[str], None] | None = None,
) -> Measured:
    """Measure latency and bandwidth of every level of a machine.

    The program runs once to print host and CPUs of every rank, then once for each level: up to three pairs of
    ranks for which this is the outermost level at which they differ exchange messages, one pair at a time.
    """
    if not isinstance(where.distance, TreeDistance):
        spec = where.machine.spec()[:60]
        what = "the machine has no levels to measure, expected a tree, slurm:, hwloc:, job or local"
        raise UnsupportedError(f"'{spec}': {what}")
    if batches < FEWEST_BATCHES:
        raise FormatError("`batches`", None, f"{batches}, expected at least {FEWEST_BATCHES}")
    remove_left(tempfile.gettempdir(), "hopbytes-")
    with tempfile.TemporaryDirectory(prefix=name_of_process("hopbytes-")) as folder:
        program = _program(compiler, folder)
        pes = pes_of_ranks(read_places(_output([*command, *program, "where"])), where)
        pairs = pairs_of_levels(where, pes)
        if not pairs:
            raise InfeasibleError(f"{len(pes)} ranks, expected two or more on different slots")
        names = [level.name for level in where.machine.levels]
        share = time_limit / sum(map(len, pairs.values()))
        sweep = ",".join(f"{size}:{rounds_of(size)}" for size in sizes)
        fits = {}
        for place, (level, chosen) in enumerate(pairs.items(), 1):
            if tell is not None:
                many = f"{len(chosen)} pair{'s' * (len(chosen) > 1)} of ranks"
                limit = f"at most about {share * len(chosen):.0f} seconds"
                tell(f"level {names[level]} ({place} of {len(pairs)}): {many}, {limit}")
            plan = ",".join(f"{a}-{b}" for a, b in chosen)
            running = [*command, *program, "run", str(batches), sweep, plan, f"{share:.3f}"]
            lines = _output(running, marker="#hopbytes-measure time")
            fits[names[level]] = fit(_times_of_level(lines, chosen, sizes, batches))
    machine = with_measured(where.machine, fits, keep_distances)
    return Measured(machine, fits, {names[level]: len(chosen) for level, chosen in pairs.items()})


def _times_of_level(
    lines: Sequence[str], pairs: Sequence[tuple[int, int]], sizes: Sequence[int], batches: int
) -> dict[int, list[float]]:
    """Return the seconds by message size that pairs of a level printed; FormatError if some are missing."""
    times = read_times(lines)
    done = {(int(a), int(b)): int(count) for line in lines for a, b, count in SIZES_DONE.findall(line)}
    found: dict[int, list[float]] = {}
    for pair in pairs:
        for size in sizes[: done.get(pair, len(sizes))]:
            own = times.get((*pair, size), [])
            if len(own) != batches:
                what = f"{len(own)} of {batches} times of ranks {pair[0]} and {pair[1]}, {size} bytes"
                raise FormatError("measure", None, f"{what} arrived, expected all: measure again")
            found.setdefault(size, []).extend(own)
    return found


def with_measured(machine: Machine, fits: dict[str, Fit], keep_distances: bool) -> Machine:
    """Return the machine with measured latency, bandwidth and, unless `keep_distances`, distances.

    A level without a measurement gets the distance of the next inner level.
    """
    tiers: list[Level] = []
    inner = 0
    for level in reversed(machine.levels):
        found = fits.get(level.name)
        if found is not None:
            level = replace(level, latency=found.latency, bandwidth=found.bandwidth)
        if not keep_distances:
            inner = max(inner, 0 if found is None else round(found.seconds(REFERENCE_BYTES) * 1e9))
            level = replace(level, distance=inner)
        tiers.append(level)
    outermost_first = tuple(reversed(tiers))
    if isinstance(machine, Tree):
        return replace(machine, tiers=outermost_first)
    if isinstance(machine, NodeMachine):
        return replace(machine, known_tiers=outermost_first, replaced={})
    base = machine.base if isinstance(machine, MeasuredMachine) else machine
    base = base.with_distances({tier.name: tier.distance for tier in outermost_first})
    return MeasuredMachine(base, outermost_first)


def read_places(lines: Sequence[str]) -> list[RankPlace]:
    """Return the host and CPUs that every rank printed; FormatError if ranks are missing or repeated."""
    places: dict[int, RankPlace] = {}
    for line in lines:
        for found in WHERE.finditer(line):
            if int(found[1]) in places:
                what = f"rank {found[1]} occurs twice, expected ranks of one MPI world"
                raise FormatError("measure", None, f"{what}: {OTHER_MPI}")
            places[int(found[1])] = RankPlace(found[2], frozenset(parse_list(found[3], "measure")))
    if not places or sorted(places) != list(range(len(places))):
        what = f"{len(places)} ranks printed their hosts"
        raise FormatError("measure", None, f"{what}, expected all ranks: does the command start MPI ranks?")
    return [places[rank] for rank in range(len(places))]


def read_times(lines: Sequence[str]) -> dict[tuple[int, int, int], list[float]]:
    """Return the measured seconds by first rank, second rank and message size."""
    times: dict[tuple[int, int, int], list[float]] = {}
    for line in lines:
        for found in TIME.finditer(line):
            try:
                seconds = float(found[4])
            except ValueError:
                raise FormatError("measure", None, f"time {found[4][:20]!r}, expected seconds") from None
            times.setdefault((int(found[1]), int(found[2]), int(found[3])), []).append(seconds)
    return times


def _program(compiler: str | None, folder: str) -> list[str]:
    """Return how the ping-pong starts: built by the compiler given, by mpi4py, else by mpicc."""
    if compiler is None and find_spec("mpi4py") is None:
        compiler = "mpicc"
        if shutil.which(compiler) is None:
            what = "neither mpi4py is installed nor mpicc found, expected one of them (`compiler='mpicc'`)"
            raise UnsupportedError(f"measure: {what}")
    if compiler is not None:
        return [_built(compiler, folder)]
    return [sys.executable, str(files("hopbytes").joinpath("discover/pingpong.py"))]


def _built(compiler: str, folder: str) -> str:
    program = os.path.join(folder, "pingpong")
    if shutil.which(compiler) is None:
        raise UnsupportedError(f"{compiler}: not found, expected an MPI compiler like mpicc")
    with as_file(files("hopbytes").joinpath("discover/pingpong.c")) as source:
        _output([compiler, "-O2", "-o", program, str(source)])
    return program


def _output(command: Sequence[str], timeout: float = START_TIMEOUT, marker: str = "") -> list[str]:
    printed, code = run_program(
        command, timeout=timeout, marker=marker, expected="a command that starts MPI", hint=OTHER_MPI
    )
    if code:
        raise UnsupportedError(f"{' '.join(command)[:100]}: failed with exit code {code}, expected 0")
    return printed.splitlines()
