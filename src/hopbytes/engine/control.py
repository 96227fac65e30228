"""Compiled calls that Ctrl-C and deadlines can stop, and scaling of numbers that sums could overflow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import no_thread
from hopbytes.kernels import checked_sum
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.kernels.records import Csr

Result = TypeVar("Result")
Value = TypeVar("Value")


class WorkMeter:
    """The sum of scanned edges over all compiled calls inside :func:`metered_by`.

    Calls of several threads may begin and end at any time. The counter of a call is also read while it runs,
    and the sum never decreases.
    """

    def __init__(self) -> None:
        self._ended = 0
        self._running: dict[int, Int64] = {}
        self._lock = threading.Lock()

    def total(self) -> int:
        """Return the number of scanned edges so far; O(running calls)."""
        with self._lock:
            return self._ended + sum(int(spent[0]) for spent in self._running.values())

    @contextmanager
    def follow(self, spent: Int64) -> Iterator[None]:
        """Count what a call inside the block adds to ``spent[0]``."""
        with self._lock:
            self._running[id(spent)] = spent
        try:
            yield
        finally:
            with self._lock:
                del self._running[id(spent)]
                self._ended += int(spent[0])


# This is a context variable, because otherwise every search would have to pass the meter on.
_meter: ContextVar[WorkMeter | None] = ContextVar("meter", default=None)


@contextmanager
def _holding(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def metered_by(meter: WorkMeter | None) -> AbstractContextManager[None]:
    """Let `meter` follow the compiled calls inside the block."""
    return _holding(_meter, meter)


#: Called with the number of scanned edges of a search and whether it ended by itself (False: it was stopped).
Spend = Callable[[int, bool], None]

#: Number of seconds to wait for the end of an interrupted call.
GRACE = 0.3

#: A call with fewer tasks, arcs and blocks in total takes milliseconds, so it does not need its own thread.
SMALL = 4_000

#: The largest permitted sum over all arcs of weight x distance in compiled code: gains double it, flows use
#: both directions of an edge, and 2^60 stands for infinity there.
MOST = 2**59


@frozen(eq=False)
class RunControl:
    """Seed, threads, deadline and callbacks of a compiled search."""

    seed: int = 0  # seed of all random choices of the search
    threads: int = 1  # number of threads, on which the result does not depend
    #: value of ``time.monotonic()`` after which the search returns its best result so far.
    deadline: float | None = None
    #: the search calls it at the end with the number of scanned edges and with True if it ended by itself
    spend: Spend | None = None
    watch: Callable[[int], None] | None = None  # the search calls it repeatedly with its progress
    #: int32[2] or None: Control flag and progress counter, which calls may share: all return soon after the
    #: flag becomes 1
    cancel: Int32 | None = None
    #: called after ``spend``, if the search ended by itself, with the number of scanned edges beyond the
    #: span: those that threads could scan at the same time as others
    overlap: Callable[[int], None] | None = None

    @property
    def seed_word(self) -> int:
        """The seed as the unsigned 64-bit integer that compiled code takes."""
        return self.seed % 2**64

    def flag(self) -> Int32:
        """Return int32[2], the control flag and the progress counter of one call."""
        return np.zeros(2, np.int32) if self.cancel is None else self.cancel


#: A search with seed 0 and one thread, which runs until it ends by itself.
DEFAULT_CONTROL = RunControl()

#: The stop function of the caller, which long searches call. It is a context variable, because otherwise
#: every search would have to pass it on.
_stop: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


def stopping_when(should_stop: Callable[[], bool] | None) -> AbstractContextManager[None]:
    """Make searches inside the block end early once `should_stop` returns True, as at a deadline."""
    return _holding(_stop, should_stop)


def stop_asked() -> bool:
    """Return whether the caller wants the best result so far."""
    should_stop = _stop.get()
    return should_stop is not None and should_stop()


def rescale_to_63_bits(
    weights: Int64 | None, arcs: int, distances: Int64 | None = None, threads: int = 1
) -> tuple[Int64 | None, Int64 | None]:
    """Scale weights and distances down if sums of their products could exceed :data:`MOST`.

    The arrays themselves are returned if no sum can overflow, which is nearly always the case. Otherwise both
    lose low bits: distances first, down to 20 significant bits, then weights, which stay positive. Searches
    may use the rounded numbers, but results must be compared with the exact ones.
    """
    furthest, shift = excess_bits(weights, arcs, distances, threads)
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


def excess_bits(
    weights: Int64 | None, arcs: int, distances: Int64 | None, threads: int = 1
) -> tuple[int, int]:
    """Return the largest distance and the number of excess bits of sums of products."""
    total = arcs if weights is None else checked_sum(weights, threads)
    furthest = 1 if distances is None or not len(distances) else int(distances.max())
    return furthest, max(0, (total * furthest).bit_length() - MOST.bit_length() + 1)


def interruptible(
    work: Callable[[], Result], flag: Int32, control: RunControl, size: int, spent: Int64 | None = None, *,
    to_the_end: bool = False
) -> Result:
    """Run compiled `work` while the main thread stays free for Ctrl-C and the deadline.

    Python cannot interrupt compiled code, so it runs in its own thread. On Ctrl-C, at the deadline, or when
    :func:`stop_asked` returns True, the control flag ``flag[0]`` makes it return within milliseconds; with
    `to_the_end` :func:`stop_asked` is ignored. Meanwhile ``control.watch`` is called a few times per second
    with the counter ``flag[1]``. At the end ``control.spend`` is called with the scanned edges in `spent` and
    with True if the work ended by itself.
    """
    deadline = control.deadline

    def late() -> bool:
        passed = deadline is not None and time.monotonic() >= deadline
        return passed or (not to_the_end and stop_asked())

    if late():
        compiled.request_stop(flag)
    meter = _meter.get()
    with nullcontext() if meter is None or spent is None else meter.follow(spent):
        if size < SMALL:
            whole = not flag[0]
            result = work()
        else:
            result, whole = _in_a_thread(work, flag, control, late)
    if control.spend is not None and spent is not None:
        control.spend(int(spent[0]), whole)
        if control.overlap is not None and whole and len(spent) > 1:
            control.overlap(int(spent[0] - spent[1]))
    return result


def _in_a_thread(
    work: Callable[[], Result], flag: Int32, control: RunControl, late: Callable[[], bool]
) -> tuple[Result, bool]:
    """Return the result of `work` and whether it ended by itself; `late` says when to stop it."""
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
        while not finished.is_set():
            left = 0.2 if control.deadline is None or flag[0] else control.deadline - time.monotonic()
            finished.wait(min(max(left, 0.0), 0.2))
            if control.watch is not None:
                control.watch(int(flag[1]))
            if late():
                compiled.request_stop(flag)
        whole = not flag[0]
    except BaseException:
        compiled.request_stop(flag)
        # On large graphs seconds may pass between two checks of the flag. The result is no longer needed, and
        # the thread holds references to its arrays, so it may end later.
        finished.wait(GRACE)
        raise
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0], whole


def call_size(csr: Csr, max_block_weights: Int64, repeats: int = 1) -> int:
    """Return the size of a problem in units of :data:`SMALL`; hundreds of small `repeats` remain small."""
    return (len(csr.indptr) + len(csr.targets) + len(max_block_weights)) * (1 + repeats // 1000)
