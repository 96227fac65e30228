"""Mappings on disk of which every process writes or reads its own part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.mpi.distributed.file_ranges import RangeFile, write_ranges
from hopbytes.mpi.distributed.map_over_ranks import DistributedMapping
from hopbytes.mpi.distributed.member import Comm, Member

#: Length of the header of a binary file, and lines that are made at once.
HEADER, LINES_AT_ONCE = 128, 1 << 18
MAGIC = b"\x93NUMPY\x01\x00"


def write_distributed(comm: Comm, mapping: DistributedMapping, path: str, *, force: bool = False) -> None:
    """Write the PE of every task; every process writes its own part of the file; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    mapping : DistributedMapping
    path : str
        A name that ends with ``.npy`` gets an array of int32, which ``numpy.load`` reads; any other name one
        line per task, as the format ``plain``.
    force : bool
        Overwrite an existing file.

    Raises
    ------
    HopbytesError
        Raised on all processes if one cannot write; the old file is still there then.
    """
    if path.endswith(".npy"):
        described = {"descr": "<i4", "fortran_order": False, "shape": (mapping.total,)}
        text = repr(described).ljust(HEADER - len(MAGIC) - 3) + "\n"
        head = MAGIC + len(text).to_bytes(2, "little") + text.encode()
        write_ranges(Member(comm), path, lambda: [mapping.pe.astype("<i4").tobytes()], head, force=force)
    else:
        write_ranges(Member(comm), path, lambda: list(_lines(mapping.pe)), b"", force=force)


def _lines(pe: Int32) -> Iterator[bytes]:
    for begin in range(0, len(pe), LINES_AT_ONCE):
        yield "".join(f"{each}\n" for each in pe[begin : begin + LINES_AT_ONCE].tolist()).encode()


def read_distributed(comm: Comm, path: str, n: int) -> Int32:
    """Return the PEs of the n own tasks, those that follow the tasks of lower ranks; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    path : str
        A file as :func:`write_distributed` writes it, or one line per task.
    n : int

    Raises
    ------
    HopbytesError
        Raised on all processes: the file is malformed, or has not the PEs of all tasks.
    """
    member = Member(comm)
    tasks = member.all(n)
    first, total = sum(tasks[: member.rank]), sum(tasks)
    fault: BaseException | None = None
    pe = np.empty(0, np.int64)
    try:
        with RangeFile(path) as file:
            binary = file.bytes(0, min(file.size, len(MAGIC))) == MAGIC
            pe = _binary(file, first, n, total) if binary else _text(file, member.rank, member.size)
    except (HopbytesError, OSError) as error:
        fault = error
    member.agree(fault)
    if not binary:
        pe = _to_owners(member, pe, tasks, path)
    if len(pe) and not 0 <= int(pe.min()) <= int(pe.max()) < 2**31:
        fault = FormatError(path, None, f"PE {pe.min()} or {pe.max()}, expected numbers from 0 to 2^31 - 1")
    member.agree(fault)
    return pe.astype(np.int32)


def _binary(file: RangeFile, first: int, n: int, total: int) -> Int64:
    text = file.bytes(len(MAGIC) + 2, HEADER - len(MAGIC) - 2)
    try:
        described = ast.literal_eval(text.decode("latin-1"))
    except (ValueError, SyntaxError):
        described = {}
    if not isinstance(described, dict) or described.get("descr") != "<i4" or described.get("fortran_order"):
        raise FormatError(file.path, None, "a header of another array, expected int32 numbers")
    if described.get("shape") != (total,) or file.size != HEADER + 4 * total:
        what = f"an array of shape {described.get('shape')} in {file.size} bytes, expected {total} numbers"
        raise FormatError(file.path, None, f"{what} (is the file complete?)")
    return file.numbers("<i4", HEADER, first, n).astype(np.int64)


def _text(file: RangeFile, rank: int, size: int) -> Int64:
    """Return the numbers of the lines whose first bytes are in the range of a process."""
    begin, end = (file.line_start(file.size * part // size, 0) for part in (rank, rank + 1))
    words = [line.strip() for line in file.bytes(begin, end - begin).split(b"\n")]
    words = [word for word in words if word and not word.startswith((b"#", b"%"))]
    wrong = next((word for word in words if not word.isdigit() or len(word) > 10), None)
    if wrong is not None:
        shown = wrong[:40].decode("utf-8", "replace")
        raise FormatError(file.path, None, f"{shown!r}, expected the number of a PE")
    return np.array(words, "S10").astype(np.int64)


def _to_owners(member: Member, pe: Int64, tasks: list[int], path: str) -> Int64:
    lines = member.all(len(pe))
    if sum(lines) != sum(tasks):
        what = f"{sum(lines)} lines with a PE, expected {sum(tasks)}, one for each task"
        raise FormatError(path, None, what)
    first = sum(lines[: member.rank])
    begins = np.concatenate([[0], np.cumsum(tasks)])
    places = np.clip(begins - first, 0, len(pe))
    mine = np.diff(places).astype(np.int64)
    (found,) = member.exchange(mine, member.counts(mine), pe)
    return found
