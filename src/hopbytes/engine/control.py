"""Compiled calls that Ctrl-C and deadlines can stop, and scaling of numbers that sums could overflow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.work_meter import followed
from hopbytes.errors import no_thread
from hopbytes.kernels import checked_sum
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.kernels.records import Csr

Result = TypeVar("Result")

#: Called with the number of scanned edges of a search and whether it ended by itself (False: it was stopped).
Spend = Callable[[int, bool], None]

#: Number of seconds to wait for the end of an interrupted call.
GRACE = 0.3

#: A call with fewer tasks, arcs and blocks in total takes milliseconds, so it does not need its own thread.
SMALL = 4_000

#: The largest permitted sum over all arcs of weight x distance in compiled code: gains double it, flows use
#: both directions of an edge, and 2^60 stands for infinity there.
MOST = 2**59


@dataclass(frozen=True, slots=True, eq=False)
class RunControl:
    """How to run a compiled search: seed, threads, when to stop, and what to report to.

    Parameters
    ----------
    seed : int
    threads : int
        The result does not depend on it.
    deadline : float or None
        ``time.monotonic()`` value after which the search returns its best result so far.
    spend : callable or None
        Called at the end with the number of scanned edges and whether the search ended by itself.
    watch : callable or None
        Called repeatedly with the progress of the search.
    cancel : int32[2] or None
        Control flag and progress counter to share with other calls: all return soon after the flag becomes 1.
    """

    seed: int = 0
    threads: int = 1
    deadline: float | None = None
    spend: Spend | None = None
    watch: Callable[[int], None] | None = None
    cancel: Int32 | None = None

    @property
    def seed_word(self) -> int:
        """The seed as the unsigned integer of 64 bits that compiled code takes."""
        return self.seed % 2**64

    def flag(self) -> Int32:
        """int32[2]: control flag and progress counter of one call."""
        return np.zeros(2, np.int32) if self.cancel is None else self.cancel


#: One thread, seed 0, until the search ends by itself.
DEFAULT_CONTROL = RunControl()

#: Asked by everything that runs long. A context variable, because every search needs it.
_stop: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


@contextmanager
def stopping_when(asked: Callable[[], bool] | None) -> Iterator[None]:
    """Make searches inside the block end early once `asked` returns True, as at a deadline."""
    before = _stop.set(asked)
    try:
        yield
    finally:
        _stop.reset(before)


def stop_asked() -> bool:
    """Return whether the caller wants the best result so far."""
    asked = _stop.get()
    return asked is not None and asked()


def rescale_to_63_bits(
    weights: Int64 | None, arcs: int, distances: Int64 | None = None
) -> tuple[Int64 | None, Int64 | None]:
    """Scale weights and distances down if sums of their products could exceed :data:`MOST`.

    The arrays themselves are returned if no sum can overflow, which is nearly always the case. Otherwise both
    lose low bits: distances first, down to 20 significant bits, then weights, which stay positive. Searches
    may use the rounded numbers, but results must be compared with the exact ones.

    Examples
    --------
    >>> rescale_to_63_bits(np.array([2**60, 1]), 2)
    (array([288230376151711744,                  1]), None)
    """
    furthest, shift = excess_bits(weights, arcs, distances)
    if distances is not None and shift:
        less = min(shift, max(0, furthest.bit_length() - 20))
        distances, shift = distances >> less, shift - less
    if weights is not None and shift:
        weights = np.maximum(weights >> shift, 1)
    return weights, distances


def rescale_linear_cost(
    linear_cost: LinearCost | None, weights: Int64 | None, arcs: int, distances: Int64 | None
) -> LinearCost | None:
    """Scale linear assignment costs down as :func:`rescale_to_63_bits` scales products."""
    if linear_cost is None:
        return None
    _, shift = excess_bits(weights, arcs, distances)
    return linear_cost.scaled(1, 2**shift) if shift else linear_cost


def excess_bits(weights: Int64 | None, arcs: int, distances: Int64 | None) -> tuple[int, int]:
    """Return the largest distance and the number of excess bits of sums of products."""
    total = arcs if weights is None else checked_sum(weights)
    furthest = 1 if distances is None or not len(distances) else int(distances.max())
    return furthest, max(0, (total * furthest).bit_length() - MOST.bit_length() + 1)


def interruptible(
    work: Callable[[], Result],
    flag: Int32,
    control: RunControl,
    size: int,
    spent: Int64 | None = None,
    *,
    to_the_end: bool = False,
) -> Result:
    """Run compiled `work` while the main thread stays free for Ctrl-C and the deadline.

    Python cannot interrupt compiled code, so it runs in a thread of its own. On Ctrl-C or at the deadline the
    control flag ``flag[0]`` makes it return within milliseconds, and also once :func:`stop_asked`, unless the
    work must run `to_the_end`. Meanwhile ``control.watch`` is called a few times a second with the counter
    ``flag[1]``. At the end ``control.spend`` is called with the work added to `spent` and whether the work
    ended by itself.
    """
    deadline, watch, spend = control.deadline, control.watch, control.spend

    def late() -> bool:
        passed = deadline is not None and time.monotonic() >= deadline
        return passed or (not to_the_end and stop_asked())

    if late():
        compiled.request_stop(flag)
    if size < SMALL:
        whole = not flag[0]
        with followed(spent):
            result = work()
        _tell(spend, spent, whole=whole)
        return result
    outcome: list[Result] = []
    failure: list[BaseException] = []
    # An event instead of Thread.join(): an interrupted join() regards a running thread as finished.
    finished = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            finished.set()

    thread = threading.Thread(target=run, name="hopbytes-kernel")
    try:
        thread.start()
    except RuntimeError:
        raise no_thread() from None
    try:
        with followed(spent):
            while not finished.is_set():
                left = 0.2 if deadline is None or flag[0] else deadline - time.monotonic()
                finished.wait(min(max(left, 0.0), 0.2))
                if watch is not None:
                    watch(int(flag[1]))
                if late():
                    compiled.request_stop(flag)
            whole = not flag[0]
    except BaseException:
        compiled.request_stop(flag)
        # Between two looks at the flag large graphs take seconds. Nobody wants the result any more, and the
        # thread keeps alive what it works on, so it may end by itself.
        finished.wait(GRACE)
        raise
    thread.join()
    if failure:
        raise failure[0]
    _tell(spend, spent, whole=whole)
    return outcome[0]


def _tell(spend: Spend | None, spent: Int64 | None, *, whole: bool) -> None:
    if spend is not None and spent is not None:
        spend(int(spent[0]), whole)


def call_size(csr: Csr, max_block_weights: Int64, repeats: int = 1) -> int:
    """Return the size of a problem in units of :data:`SMALL`; hundreds of small `repeats` remain small."""
    return (len(csr.indptr) + len(csr.targets) + len(max_block_weights)) * (1 + repeats // 1000)
