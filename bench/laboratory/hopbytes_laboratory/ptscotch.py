"""First cuts of ``map --distributed`` by PT-Scotch, whose C library is called by ctypes. Needs libptscotch.

``mpirun -n P python -m hopbytes_laboratory.ptscotch [both] map --distributed GRAPH --on MACHINE`` is that
command of hopbytes with three first cuts by PT-Scotch, which are repaired, refined and recombined like our
own, in their place; with ``both``, beside them.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from ctypes import c_double, c_int, c_int64, c_void_p
from glob import glob
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.mpi.distributed import islands
from hopbytes.mpi.distributed.islands import Cut
from hopbytes.mpi.distributed.refinement import refined
from hopbytes.mpi.distributed.rows import Rows

#: Name of the environment variable with the file of the library.
VARIABLE = "HOPBYTES_PTSCOTCH"
#: Where Debian and others keep builds with integers of 64 bits; the first that has such integers is taken.
PATTERNS = (
    "/usr/lib/*/scotch-int64/libptscotch-*.so", "/usr/lib/*/scotch-int64/libptscotch.so",
    "/usr/lib*/libptscotch.so", "/usr/local/lib*/libptscotch.so",
)
#: Numbers of options in scotch.h, and of the strategy that prefers quality to speed.
DETERMINISTIC, FIXED_SEED, QUALITY = 0, 1, 1
#: Number of cuts, with different seeds.
STARTS = 3
#: Share above the mean load that PT-Scotch is asked for. It exceeds it, and the caller repairs that.
SLACK = 0.03


def missing_ptscotch() -> str:
    """Return why PT-Scotch cannot be used, or ""."""
    try:
        _libraries()
    except UnsupportedError as error:
        return str(error)
    return ""


@functools.cache
def _libraries() -> tuple[Any, Any]:
    """Load libptscotch with integers of 64 bits, and libscotch beside it with all but distributed graphs."""
    named = os.environ.get(VARIABLE)
    paths = [named] if named else [path for pattern in PATTERNS for path in sorted(glob(pattern))]
    faults = []
    for path in paths:
        try:
            return _loaded(path)
        except OSError as error:
            faults.append(f"{path}: {error}")
        except UnsupportedError as error:
            faults.append(str(error))
    advice = f"install libptscotch-dev (its build for 64-bit integers), or name the file in {VARIABLE}"
    raise UnsupportedError(f"PT-Scotch: {faults[0] if faults else 'no library was found'}; {advice}")


def _loaded(path: str) -> tuple[Any, Any]:
    # Libraries of other integers would mix up with this one, so names become global after the check only.
    beside = os.path.join(os.path.dirname(path), os.path.basename(path).replace("libptscotch", "libscotch"))
    bits = 8 * ctypes.CDLL(beside).SCOTCH_numSizeof()
    if bits != 64:
        raise UnsupportedError(f"{path}: integers of {bits} bits, expected 64")
    serial = ctypes.CDLL(beside, mode=ctypes.RTLD_GLOBAL)
    parallel = ctypes.CDLL(path)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        kinds = sorted(set(re.findall(r"\S{1,512}/libmpi(?:ch)?\.so\S*", maps.read())))
    if len(kinds) > 1:
        raise UnsupportedError(f"{path}: linked with another MPI than mpi4py: {' and '.join(kinds)}")
    serial.SCOTCH_contextAlloc.restype = c_void_p
    return parallel, serial


def cut_by_ptscotch(rows: Rows, caps: Int64, seed: int) -> Int32:
    """Return int32[n], a partition of a distributed graph by PT-Scotch; collective.

    The result depends on seed and number of processes, not on times: the graph is bound to a context whose
    options ask for that. An error on one process may hold up the others.

    Source: Chevalier and Pellegrini, "PT-Scotch: a tool for efficient parallel graph ordering", 2008.
    """
    fault = missing_ptscotch() or ("" if rows.n else f"PT-Scotch: rank {rows.member.rank} has no vertex")
    rows.member.agree(UnsupportedError(fault) if fault else None)
    indptr, loads = np.ascontiguousarray(rows.indptr), np.maximum(rows.loads, 1)
    targets = np.concatenate([rows.ids, rows.ghosts])[rows.targets]
    weights = None if rows.weights is None else np.ascontiguousarray(rows.weights)
    parallel, serial = _libraries()

    def call(library: Any, name: str, *arguments: Any) -> None:
        code = getattr(library, f"SCOTCH_{name}")(*arguments)
        if code:
            raise HopbytesError(f"PT-Scotch: SCOTCH_{name} ended with {code}")

    def partitioned() -> Int64:
        block, caps_ = np.empty(rows.n, np.int64), np.ascontiguousarray(caps)
        plain, bound = (ctypes.create_string_buffer(parallel.SCOTCH_dgraphSizeof()) for _ in range(2))
        strategy = ctypes.create_string_buffer(serial.SCOTCH_stratSizeof())
        target = ctypes.create_string_buffer(serial.SCOTCH_archSizeof())
        context = c_void_p(serial.SCOTCH_contextAlloc())
        n, m, count = c_int64(rows.n), c_int64(len(targets)), c_int64(len(caps))
        call(parallel, "dgraphInit", plain, _handle(rows.member.comm))
        call(
            parallel, "dgraphBuild", plain, c_int64(0), n, n, _at(indptr), None, _at(loads), None,
            m, m, _at(targets), None, _at(weights),
        )
        call(serial, "contextInit", context)
        call(serial, "contextOptionSetNum", context, c_int(DETERMINISTIC), c_int64(1))
        call(serial, "contextOptionSetNum", context, c_int(FIXED_SEED), c_int64(1))
        call(serial, "contextThreadSpawn", context, c_int(1), None)
        call(serial, "contextRandomClone", context)
        serial.SCOTCH_contextRandomSeed(context, c_int64(seed % 2**31))
        serial.SCOTCH_contextRandomReset(context)
        call(parallel, "contextBindDgraph", context, plain, bound)
        call(serial, "stratInit", strategy)
        call(parallel, "stratDgraphMapBuild", strategy, c_int64(QUALITY), c_int64(1), count, c_double(SLACK))
        call(serial, "archInit", target)
        call(serial, "archCmpltw", target, count, _at(caps_))
        call(parallel, "dgraphMap", bound, target, strategy, _at(block))
        for graph in (bound, plain):
            parallel.SCOTCH_dgraphExit(graph)
        serial.SCOTCH_archExit(target)
        serial.SCOTCH_stratExit(strategy)
        serial.SCOTCH_contextExit(context)
        return block

    return rows.member.agreed(partitioned).astype(np.int32)


def _handle(comm: Any) -> Any:
    from mpi4py import MPI

    if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_int):
        return c_int(MPI._handleof(comm))
    return c_void_p(MPI._handleof(comm))


def _at(array: Int64 | None) -> Any:
    return None if array is None else c_void_p(array.ctypes.data)


def cuts(cut: Cut, seed: int, *, both: bool) -> list[tuple[Int32, int]]:
    """Return partitions by PT-Scotch, repaired and refined, with their costs; with `both` also our own."""
    rows, found = cut.rows, islands.own_cuts(cut, seed) if both else []
    if min(rows.member.all(rows.n)) == 0:  # PT-Scotch needs a vertex on every process
        return found or islands.own_cuts(cut, seed)
    for number in range(STARTS):
        with rows.member.phase("PT-Scotch"):
            block = cut_by_ptscotch(rows, cut.caps, seed + number + 1)
        with rows.member.phase("refine cuts"):
            block = refined(rows, block, cut.target, cut.where, cut.history)
        found.append((block, cut.history.costs[-1]))
    return found


def main(words: list[str]) -> None:
    """Run a command of hopbytes with these first cuts."""
    from hopbytes.cli.app import main as hopbytes

    both = words[1:2] == ["both"]
    islands.first_cuts = functools.partial(cuts, both=both)
    sys.argv = [words[0], *words[1 + both :]]
    hopbytes()


if __name__ == "__main__":
    main(sys.argv)
