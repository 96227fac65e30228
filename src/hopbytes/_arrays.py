"""Types of the arrays that the package passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bool = NDArray[np.bool_]
Float64 = NDArray[np.float64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
UInt16 = NDArray[np.uint16]
UInt64 = NDArray[np.uint64]
