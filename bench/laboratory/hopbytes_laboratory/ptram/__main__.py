"""``mpirun -n L python -m hopbytes_laboratory.ptram PATTERN --on MACHINE``: every process is a leader."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from typing import Any

from hopbytes.algorithms.base import mappers, refiners
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import HottestLink
from hopbytes.algorithms.two_level.groups import nodes_of
from hopbytes.cost.objectives.link_sums import network_of
from hopbytes.errors import HopbytesError, UnsupportedError, printable
from hopbytes.formats.exchange import read, write
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.allocation import Allocation
from hopbytes.mpi.distributed.rows import Member, sentence
from hopbytes.solve.map_record import map_record
from hopbytes.util.options import build
from hopbytes.util.quantities import plain_value
from hopbytes_laboratory.ptram.leaders import Leaders, StrandedError, map_with_leaders

EXPECTED = (HopbytesError, OSError, MemoryError)


def main() -> int:
    """Return the exit code. An error on one leader ends all leaders."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        return _complain(f"needs mpi4py and an MPI library (pip install mpi4py): {error}")
    comm = MPI.COMM_WORLD
    try:
        return _lead(comm, _parse_arguments(comm.Get_rank()))
    except (StrandedError, *EXPECTED) as error:
        _complain(sentence(error))
    except Exception as error:
        _complain(f"leader {comm.Get_rank()}: {error!r}")
    comm.Abort(1)
    return 1


def _parse_arguments(rank: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hopbytes_laboratory.ptram", description=__doc__)
    parser.add_argument("pattern", help="file, or spec of a pattern, as for hopbytes map")
    parser.add_argument("--on", required=True, metavar="MACHINE", help="a machine with links and routes")
    parser.add_argument("--hosts", help="the nodes to use")
    parser.add_argument("--mapper", default="ptram", help="ptram with its options, such as ptram:raw=true")
    parser.add_argument("--refine", default="ptram", help="ptram with its options, such as ptram:rounds=5")
    parser.add_argument("--group", type=_count, default=0, metavar="N", help="leaders per group (0: none)")
    parser.add_argument("--threads", type=_count, default=1, help="threads of every leader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", help="file to which the mapping is written")
    parser.add_argument("--format", help="format of the mapping; by default chosen by the suffix")
    parser.add_argument("--force", action="store_true", help="overwrite a file that hopbytes did not write")
    with contextlib.ExitStack() as quiet:
        if rank:  # only rank 0 prints errors in the arguments, so that they appear once
            nowhere = quiet.enter_context(open(os.devnull, "w"))
            quiet.enter_context(contextlib.redirect_stderr(nowhere))
            quiet.enter_context(contextlib.redirect_stdout(nowhere))
        return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 2**20:
        raise argparse.ArgumentTypeError(f"{text[:20]!r}, expected a number from 0 to {2**20}")
    return int(text)


def _lead(comm: Any, arguments: argparse.Namespace) -> int:
    rank, began = comm.Get_rank(), time.perf_counter()

    def begin() -> tuple[Leaders, tuple[HybridGreedy, HottestLink], Allocation, Any]:
        mapper, refiner = build(mappers, arguments.mapper), build(refiners, arguments.refine)
        if not isinstance(mapper, HybridGreedy) or not isinstance(refiner, HottestLink):
            what = f"mapper {arguments.mapper}, refiner {arguments.refine}"
            raise UnsupportedError(f"{what}: expected ptram for both")
        where = allocate(arguments.on, hosts=arguments.hosts)
        network = network_of(where, "hopbytes_laboratory.ptram")
        leaders = Leaders(comm, network, arguments.group, arguments.threads or 1)
        leaders.check(nodes_of(where).count)
        pattern = None if rank else read(arguments.pattern, holds="pattern")
        return leaders, (mapper, refiner), where, pattern

    try:
        leaders, steps, where, pattern = Member(comm).agreed(begin)
    except HopbytesError as error:
        return 1 if rank else _complain(str(error))
    record: dict[str, Any] = {}
    if rank:
        code = leaders.serve()
    else:
        code, record = _map(leaders, pattern, where, steps, arguments, time.perf_counter() - began)
    if code:
        return code
    report = leaders.report()
    if rank == 0:
        record["seconds"]["all"] = time.perf_counter() - began
        print(json.dumps(record | {"leaders": report}, default=plain_value), flush=True)
    return 0


def _map(
    leaders: Leaders, pattern: Any, where: Allocation, steps: tuple[HybridGreedy, HottestLink],
    arguments: argparse.Namespace, read_seconds: float,
) -> tuple[int, dict[str, Any]]:
    """Map and write the result, as rank 0 does; return the exit code and the record of the run."""
    try:
        mapping = map_with_leaders(leaders, pattern, where, *steps, seed=arguments.seed)
        receipt = None
        if arguments.output is not None:
            receipt = write(mapping, arguments.output, arguments.format, force=arguments.force)
    except EXPECTED as error:
        leaders.close(_complain(sentence(error)))
        return 1, {}
    leaders.close(0)
    return 0, map_record(pattern, mapping, read_seconds, receipt)


def _complain(text: str) -> int:
    print(printable(f"hopbytes: {text}"), file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
