"""How much a run may do, and what it has done: seed, threads, limits, callbacks and counters of work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.engine.control import RunControl, stop_asked

#: Options state work in millions of scanned edges.
MILLION = 10**6

#: Every step of a search without an end of its own counts at least so many scanned edges, since steps that
#: scan few edges take time, too.
LEAST_STEP = 10_000

#: Receives the name of a stage, the amount done and the total amount (0: unknown).
Progress = Callable[[str, int, int], None]


@frozen(eq=False)
class Effort:
    """Settings of one run that are not hyperparameters: seed, threads, limits, callbacks and counters.

    Parameters
    ----------
    seed : int
        All random numbers derive from the seed and from the path of a subproblem, never from scheduling.
    threads : int
        Number of parallel workers; the result does not depend on it.
    deadline : float or None
        ``time.monotonic()`` value after which a mapper returns its best mapping as soon as it can.
    progress : callable or None
        Called with (stage, done, total) from the main thread.
    work : dict
        Counters that a mapper increments (repetitions, moves, ...). They are deterministic and reported
        in ``Mapping.info``.
    work_limit : int or None
        Number of scanned edges after which no further search begins. Searches that have begun are
        completed, so the result is the same for any number of threads and on any processor.
    cancel : int32[2] or None
        Control flag and counter for searches in another thread: they return soon after the flag is set
        to 1.
    history : list of (seconds, arcs, J)
        One entry per improvement of the best mapping: seconds since `began`, scanned edges, its J.
    began : float
        ``time.monotonic()`` value when the call began.

    Notes
    -----
    The unit of work is one edge scanned by a compiled search (a visited vertex counts as one edge).
    Searches report it through :meth:`spend`; ``work["arcs"]`` is the sum, which is independent of
    `threads`. A search that a deadline ends early counts in ``work["cut_short"]`` and not in
    ``work["arcs"]``. If the result does not depend on such a search, a run with this sum as its
    `work_limit` reproduces it. ``work["overlapped"]`` is the part of it that threads can do at the same time
    as other work, see :meth:`counted`.
    """

    seed: int = 0
    threads: int = 1
    deadline: float | None = None
    progress: Progress | None = None
    work: dict[str, int] = field(default_factory=dict)
    work_limit: int | None = None
    cancel: Int32 | None = None
    history: list[tuple[float, int, int]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def note(self, cost: int) -> None:
        """Add a value of J to `history` if it is lower than all earlier ones."""
        if not self.history or cost < self.history[-1][2]:
            self.history.append((time.monotonic() - self.began, self.work.get("arcs", 0), cost))

    def count(self, **amounts: int) -> None:
        """Add amounts to counters in `work`."""
        for name, amount in amounts.items():
            self.work[name] = self.work.get(name, 0) + amount

    def spend(self, arcs: int, whole: bool = True) -> None:
        """Record the work of one search; `whole` tells that no deadline ended it early."""
        self.count(**({"arcs": arcs} if whole else {"cut_short": 1}))

    def step_over(self, before: int) -> bool:
        """Record one step of a search that only a limit ends; False means that the search must stop.

        `before` is ``work["arcs"]`` when the step began. A step counts as at least :data:`LEAST_STEP` edges.
        One that scanned none ends the search, since further steps would never reach a `work_limit`.

        >>> effort = Effort()
        >>> effort.step_over(0), effort.spend(7), effort.step_over(0), effort.work["arcs"]
        (False, None, True, 10000)
        """
        done = self.work.get("arcs", 0) - before
        if 0 < done < LEAST_STEP:
            self.count(arcs=LEAST_STEP - done)
        return done > 0

    def whole(self, work: Callable[[], Int32]) -> Int32 | None:
        """Return the result of `work`, or undo its counters and return None if the deadline ended it early.

        A `work_limit` equal to the counted work therefore reproduces a run that a time limit ended.
        """
        before = dict(self.work)
        found = work()
        if self.work.get("cut_short", 0) == before.get("cut_short", 0):
            return found
        self.work.clear()
        self.work.update(before)
        return None

    def run_control(self, watch: Callable[[int], None] | None = None) -> RunControl:
        """Return the control of a compiled search with this effort; `watch` receives its progress."""
        return RunControl(
            self.seed, self.threads, self.deadline, self.spend, watch, self.cancel, self._overlap
        )

    def _overlap(self, arcs: int) -> None:
        self.count(overlapped=arcs)

    def counted(self) -> dict[str, int]:
        """Return `work` with ``span``, the scanned edges that follow one another with any number of threads.

        >>> effort = Effort()
        >>> effort.spend(7), effort.count(overlapped=3), effort.counted()
        (None, None, {'arcs': 7, 'span': 4})
        """
        counted = dict(sorted(self.work.items()))
        overlapped = counted.pop("overlapped", 0)
        if "arcs" in counted:
            counted["span"] = counted["arcs"] - overlapped
        return dict(sorted(counted.items()))

    def watch(self, stage: str, total: int) -> Callable[[int], None] | None:
        """Report the beginning of a stage to `progress`; return a function that reports how far it is."""
        report = self.progress
        if report is None:
            return None
        report(stage, 0, total)
        return lambda done: report(stage, done, total)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed or a stop was requested."""
        return stop_asked() or (self.deadline is not None and time.monotonic() >= self.deadline)

    @property
    def used_up(self) -> bool:
        """Whether no further search may begin, because the deadline or the work limit has been reached."""
        spent = self.work.get("arcs", 0)
        return self.out_of_time or (self.work_limit is not None and spent >= self.work_limit)
