"""Limits of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Real

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.util.checks import check_functions, whole


@frozen
class Limits:
    """What ends a search before its own end; the best mapping found by then is the result.

    Parameters
    ----------
    time : float, optional
        Seconds for the whole call, including verification; with 0 the first mapping is returned. With this
        limit the result may depend on the speed of the computer.
    work : int, optional
        Scanned edges (``info["work"]["arcs"]``) after which no further search begins. It gives the same
        mapping on every computer: searches that have begun are completed, and there is always a first
        mapping.
    stop : callable, optional
        Called without arguments a few times per second. Once it returns True, the call ends soon, as at a
        limit of time.

    Raises
    ------
    UnsupportedError
        If a value is out of range.
    WrongTypeError
        If a value has a wrong type.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.map_tasks("stencil:4x4", "node:4 core:4", limits=hb.Limits(work=1000)).comm_cost
    12582912
    """

    time: float | None = None
    work: int | None = None
    stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        limit = self.time
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, Real) or not 0 <= limit <= sys.float_info.max
        ):
            raise UnsupportedError(f"`Limits(time={limit!r})`, expected seconds >= 0")
        if self.work is not None:
            whole("limit of work", self.work, 0)
        check_functions(stop=self.stop)

    @property
    def limited(self) -> bool:
        """Whether there is a limit of time or work."""
        return self.time is not None or self.work is not None
