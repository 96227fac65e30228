"""The C library by ctypes, as ``core/library/hopbytes.h`` declares it."""

import ctypes
from typing import Any

import numpy as np
import pytest

from hopbytes.config import PREFIX

LIB = PREFIX / "lib"
if not (LIB / "libhopbytes.so").exists():
    pytest.skip("the C library is not installed beside the package", allow_module_level=True)


class Graph(ctypes.Structure):
    _fields_ = (
        ("n", ctypes.c_int64), ("rows", ctypes.c_void_p), ("targets", ctypes.c_void_p),
        ("weights", ctypes.c_void_p), ("loads", ctypes.c_void_p), ("index_bits", ctypes.c_int32),
        ("weight_bits", ctypes.c_int32), ("base", ctypes.c_int32),
    )  # fmt: skip


class Options(ctypes.Structure):
    _fields_ = (
        ("k", ctypes.c_int64), ("machine", ctypes.c_char_p), ("capacity", ctypes.c_void_p),
        ("imbalance", ctypes.c_double), ("seed", ctypes.c_uint64), ("threads", ctypes.c_int32),
        ("time_limit", ctypes.c_double), ("fixed", ctypes.c_void_p), ("effort", ctypes.c_int32),
    )  # fmt: skip


class Result(ctypes.Structure):
    _fields_ = (
        ("cost", ctypes.c_int64), ("cut", ctypes.c_int64), ("imbalance", ctypes.c_double),
        ("moved", ctypes.c_int64),
    )  # fmt: skip


library = ctypes.CDLL(str(LIB / "libhopbytes.so"))
library.hopbytes_message.restype = ctypes.c_char_p
library.hopbytes_version.restype = ctypes.c_char_p


def pointer(values: Any, bits: int) -> tuple[Any, int | None]:
    """Return an array, to be kept, and its address; None stays None."""
    if values is None:
        return None, None
    array = np.ascontiguousarray(values, np.int32 if bits == 32 else np.int64)
    return array, array.ctypes.data


def blocks_of(
    rows: Any,
    targets: Any,
    weights: Any = None,
    loads: Any = None,
    *,
    bits: int = 32,
    base: int = 0,
    n: int | None = None,
    capacity: Any = None,
    fixed: Any = None,
    machine: str | None = None,
    index_bits: int | None = None,
    **options: Any,
) -> tuple[int, Any, Result]:
    """Call the library and return its status, the blocks (-7 where it wrote none) and the result."""
    kept = [pointer(each, bits) for each in (rows, targets, weights, loads)]
    count = (len(rows) - 1 if rows is not None else 0) if n is None else n
    graph = Graph(count, *(address for _, address in kept), index_bits or bits, bits, base)
    wanted = Options()
    library.hopbytes_default_options(ctypes.byref(wanted))
    shares, fixings = pointer(capacity, 64), pointer(fixed, 32)
    wanted.capacity, wanted.fixed = shares[1], fixings[1]
    wanted.machine = None if machine is None else machine.encode()
    for name, value in options.items():
        setattr(wanted, name, value)
    part, result = np.full(max(count, 1), -7, np.int32), Result()
    status = library.hopbytes_map(
        ctypes.byref(graph), ctypes.byref(wanted), ctypes.c_void_p(part.ctypes.data), ctypes.byref(result)
    )
    return status, part[: max(count, 0)], result
