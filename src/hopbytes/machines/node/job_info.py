"""A job as its resource manager describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError

Environment = Mapping[str, str]


@frozen
class JobInfo:
    """A job as its resource manager describes it."""

    system: str  # name for people: ``Slurm``, ``PBS`` …
    hosts: tuple[str, ...]  # in the order of the system, each once
    #: CPUs of the job on every host (hardware threads or cores, as the system counts); None: not said
    cpus: tuple[int, ...] | None = None
    #: tasks the job was asked to have on every host; None: not said. In a host file one host may have None,
    #: see :meth:`with_cores`.
    tasks: tuple[int | None, ...] | None = None
    cpus_per_task: int | None = None
    notices: tuple[str, ...] = ()
    threads_per_core: int | None = None  # hardware threads of a core that tasks use; None: not said

    def with_cores(self, cores: Sequence[int]) -> JobInfo:
        """Fill in the number of cores for hosts whose slots a host file does not say, as Open MPI does."""
        tasks = self.tasks or ()
        open_ended = [host for host, count in zip(self.hosts, tasks, strict=bool(tasks)) if count is None]
        if not open_ended:
            return self
        said = f"{open_ended[0]} and {len(open_ended) - 1} more" if len(open_ended) > 1 else open_ended[0]
        notice = f"the {self.system} has no slots= or :N for {said}: as many tasks as cores, as in Open MPI"
        filled = None
        if len(open_ended) < len(self.hosts):
            filled = tuple(own if count is None else count for own, count in zip(cores, tasks, strict=True))
        return replace(self, tasks=filled, notices=(*self.notices, notice))


def number_of(environment: Environment, name: str) -> int | None:
    """Return the value of a variable if it is a number above 0."""
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and 0 < len(text) < 7 and int(text) > 0 else None


def distinct_hosts(hosts: Sequence[str], where: str) -> tuple[str, ...]:
    """Return hosts that are all different; FormatError otherwise."""
    if len(set(hosts)) != len(hosts):
        raise FormatError(where, None, "a host twice, expected every host once")
    return tuple(hosts)
