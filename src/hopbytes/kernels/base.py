"""The choice of the implementation: the compiled core or the reference implementation in Python."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from hopbytes._arrays import Int64

USE_REFERENCE = os.environ.get("HOPBYTES_KERNELS") == "reference"


def _definitions() -> Any:
    """Return the Python definitions of the kernels, which stand beside the tests."""
    try:
        return import_module("reference")
    except ModuleNotFoundError as error:
        what = "HOPBYTES_KERNELS=reference needs the Python definitions of the source tree: PYTHONPATH=tests"
        raise ImportError(what) from error


#: The compiled core, for heuristics, which have no definition to compare with.
compiled: Any = import_module("hopbytes._core")
#: The functions whose results are defined, compiled or (``HOPBYTES_KERNELS=reference``) in plain Python.
kernel: Any = _definitions() if USE_REFERENCE else compiled

_NO_INT64: Int64 = np.empty(0, np.int64)


def optional(array: Int64 | None) -> Int64:
    """Return the array, or the empty array for None, which compiled code reads as all ones."""
    return _NO_INT64 if array is None else array
