"""Partitions of a distributed graph by PT-Scotch, whose C library is called by ctypes. Needs libptscotch."""

from __future__ import annotations

import ctypes
import functools
import os
import re
from ctypes import c_double, c_int, c_int64, c_void_p
from glob import glob
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, UnsupportedError
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
#: Share above the mean load that PT-Scotch is asked for. It exceeds it, and the caller repairs that.
SLACK = 0.03


@frozen(eq=False)
class Library:
    """The loaded libraries: `parallel` has what works on distributed graphs, `serial` the rest."""

    parallel: Any
    serial: Any
    path: str


def missing_ptscotch() -> str:
    """Return why PT-Scotch cannot be used, or "".

    >>> isinstance(missing_ptscotch(), str)
    True
    """
    try:
        library()
    except UnsupportedError as error:
        return str(error)
    return ""


@functools.cache
def library() -> Library:
    """Load libptscotch with integers of 64 bits."""
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


def _loaded(path: str) -> Library:
    # Libraries of other integers would mix up with this one, so names become global after the check only.
    beside = os.path.join(os.path.dirname(path), os.path.basename(path).replace("libptscotch", "libscotch"))
    probe = ctypes.CDLL(beside)
    if probe.SCOTCH_numSizeof() != 8:
        raise UnsupportedError(f"{path}: integers of {8 * probe.SCOTCH_numSizeof()} bits, expected 64")
    serial = ctypes.CDLL(beside, mode=ctypes.RTLD_GLOBAL)
    parallel = ctypes.CDLL(path)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        kinds = sorted(set(re.findall(r"\S{1,512}/libmpi(?:ch)?\.so\S*", maps.read())))
    if len(kinds) > 1:
        raise UnsupportedError(f"{path}: linked with another MPI than mpi4py: {' and '.join(kinds)}")
    for name in ("dgraphSizeof", "archSizeof", "stratSizeof"):
        getattr(parallel if name[0] == "d" else serial, f"SCOTCH_{name}").restype = c_int
    serial.SCOTCH_contextAlloc.restype = c_void_p
    return Library(parallel, serial, path)


def cut_by_ptscotch(rows: Rows, caps: Int64, seed: int) -> Int32:
    """Return int32[n], a partition of a distributed graph by PT-Scotch; collective.

    The result depends on seed and number of processes, not on times: the graph is bound to a context whose
    options ask for that.

    Source: Chevalier and Pellegrini, "PT-Scotch: a tool for efficient parallel graph ordering", 2008.
    """
    fault = missing_ptscotch() or ("" if rows.n else f"PT-Scotch: rank {rows.member.rank} has no vertex")
    rows.member.agree(UnsupportedError(fault) if fault else None)
    names = np.concatenate([rows.ids, rows.ghosts])
    arrays = [
        np.ascontiguousarray(rows.indptr), np.maximum(rows.loads, 1), names[rows.targets],
        None if rows.weights is None else np.ascontiguousarray(rows.weights),
    ]
    block = np.empty(rows.n, np.int64)
    work = _Work(library())
    try:
        work.partition(_handle(rows.member.comm), arrays, caps, seed, block)
        problem = None
    except HopbytesError as error:
        problem = error
    rows.member.agree(problem)
    return block.astype(np.int32)


def _handle(comm: Any) -> Any:
    from mpi4py import MPI

    if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_int):
        return c_int(MPI._handleof(comm))
    return c_void_p(MPI._handleof(comm))


class _Work:
    """The structures of one call, which are freed in the end."""

    def __init__(self, found: Library) -> None:
        self._library = found
        self._kept: list[Any] = []

    def _new(self, size: int) -> Any:
        self._kept.append(ctypes.create_string_buffer(size))
        return self._kept[-1]

    def _call(self, name: str, *arguments: Any) -> None:
        where = self._library.parallel if "graph" in name.lower() else self._library.serial
        code = getattr(where, f"SCOTCH_{name}")(*arguments)
        if code:
            raise HopbytesError(f"PT-Scotch: SCOTCH_{name} ended with {code}")

    def partition(
        self, comm: Any, arrays: list[Int64 | None], caps: Int64, seed: int, block: Int64
    ) -> None:
        """Fill `block`; all processes call this, and an error on one of them may hold up the others."""
        parallel, serial = self._library.parallel, self._library.serial
        indptr, loads, targets, weights = arrays
        assert indptr is not None
        assert targets is not None
        plain, bound = (self._new(parallel.SCOTCH_dgraphSizeof()) for _ in range(2))
        context = c_void_p(serial.SCOTCH_contextAlloc())
        strategy, target = self._new(serial.SCOTCH_stratSizeof()), self._new(serial.SCOTCH_archSizeof())
        n, m, count = len(block), len(targets), len(caps)
        self._call("dgraphInit", plain, comm)
        self._call(
            "dgraphBuild", plain, c_int64(0), c_int64(n), c_int64(n), _at(indptr), None, _at(loads), None,
            c_int64(m), c_int64(m), _at(targets), None, _at(weights),
        )
        self._call("contextInit", context)
        self._call("contextOptionSetNum", context, c_int(DETERMINISTIC), c_int64(1))
        self._call("contextOptionSetNum", context, c_int(FIXED_SEED), c_int64(1))
        self._call("contextThreadSpawn", context, c_int(1), None)
        self._call("contextRandomClone", context)
        serial.SCOTCH_contextRandomSeed(context, c_int64(seed % 2**31))
        serial.SCOTCH_contextRandomReset(context)
        self._call("contextBindDgraph", context, plain, bound)
        self._call("stratInit", strategy)
        self._call(
            "stratDgraphMapBuild", strategy, c_int64(QUALITY), c_int64(1), c_int64(count), c_double(SLACK)
        )
        self._call("archInit", target)
        self._call("archCmpltw", target, c_int64(count), _at(np.ascontiguousarray(caps)))
        self._call("dgraphMap", bound, target, strategy, _at(block))
        for name, item in (("dgraphExit", bound), ("dgraphExit", plain)):
            getattr(parallel, f"SCOTCH_{name}")(item)
        for name, item in (("archExit", target), ("stratExit", strategy), ("contextExit", context)):
            getattr(serial, f"SCOTCH_{name}")(item)


def _at(array: Int64 | None) -> Any:
    return None if array is None else c_void_p(array.ctypes.data)
