"""The tiny program that says where a rank runs: a line of shell, so that nodes need nothing installed."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.launching.command import Start
from hopbytes.launching.launchers import Launcher

#: Letters of a launcher's complaint that are passed on.
MOST_SAID = 300

#: Seconds a probe may take to start everywhere.
PATIENCE = 300

_SCRIPT = (
    "while read -r key value; do case $key in Cpus_allowed_list:) cpus=$value ;; esac; done "
    "</proc/self/status; "
    'printf "hopbytes-rank %s %s %s %s .\\n" "${RANK:-?}" "${HOST:-$(hostname)}" "${cpus:-?}" '
    '"${CUDA_VISIBLE_DEVICES:-${ROCR_VISIBLE_DEVICES:-${ZE_AFFINITY_MASK:--}}}"'
)
_LINE = re.compile(r"hopbytes-rank (\S+) (\S+) (\S+) (\S+) \.")


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a rank runs.

    Parameters
    ----------
    host : str
    cpus : frozenset of int
        CPUs of the operating system it may run on.
    gpus : str
        Visible devices as its environment has them, "" when nothing was set.
    """

    host: str
    cpus: frozenset[int]
    gpus: str = ""


def probe_words(launcher: Launcher) -> tuple[str, ...]:
    """Return the program that a launcher starts in place of the user's."""
    host = f"${{{launcher.host_variable}:-}}" if launcher.host_variable else ""
    return ("sh", "-c", f"RANK=${{{launcher.rank_variable}:-}}; HOST={host}; {_SCRIPT}")


def probe(start: Start, launcher: Launcher) -> tuple[dict[int, Seen], int, str]:
    """Run a probe; return where each rank was seen, the exit code, and what was said beside that.

    Raises
    ------
    UnsupportedError
        The launcher cannot be started.
    HopbytesError
        It took longer than five minutes, a rank answered twice, or its answer makes no sense.
    """
    environment = {**os.environ, **dict(start.environment)}
    try:
        done = subprocess.run(
            start.words, env=environment, capture_output=True, text=True, errors="replace",
            timeout=PATIENCE, stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise HopbytesError(f"{start.words[0]} did not come back in {PATIENCE} seconds") from None
    except OSError as error:
        raise UnsupportedError(f"{start.words[0]}: {error.strerror}, expected a launcher") from None
    return seen_in(done.stdout), done.returncode, _tail(done.stderr or done.stdout)


def seen_in(text: str) -> dict[int, Seen]:
    """Return what the probe printed, by rank.

    Raises
    ------
    HopbytesError
        A rank that is no number, answered twice, or has CPUs that are none.
    """
    found: dict[int, Seen] = {}
    for rank, host, cpus, gpus in _LINE.findall(text):
        if not rank.isdecimal():
            raise HopbytesError(f"a process on {host} does not know its rank, expected one from its launcher")
        if int(rank) in found:
            raise HopbytesError(f"rank {rank} answered twice, expected one process for each rank")
        allowed = frozenset(parse_cpus(cpus, "probe")) if cpus != "?" else frozenset()
        found[int(rank)] = Seen(host, allowed, "" if gpus == "-" else gpus)
    return found


def _tail(text: str) -> str:
    """Return what a launcher complained about last: the paragraph inside its ruled lines, as one line."""
    lines = [line.strip() for line in text.splitlines() if not _LINE.search(line)]
    blocks = [" ".join(block.split()) for block in re.split(r"\n-{10,}\n", "\n".join(["", *lines, ""]))]
    worded = [block for block in blocks if re.search(r"[A-Za-z]{3}", block)]
    if not worded:
        return ""
    return worded[-1] if len(worded[-1]) <= MOST_SAID else f"{worded[-1][: MOST_SAID - 1]}…"
