"""The probe: a line of shell that prints where a rank runs, so that nodes need nothing installed."""

from __future__ import annotations

import os
import re
import subprocess

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.launch.command import Start
from hopbytes.launch.launchers import Launcher
from hopbytes.util.programs import stop

#: Maximum number of characters of a launcher's error message that are shown.
MOST_CHARACTERS = 300

#: Time limit of a probe in seconds.
PROBE_TIMEOUT = 300

_SCRIPT = (
    "while read -r key value; do case $key in Cpus_allowed_list:) cpus=$value ;; esac; done "
    "</proc/self/status; "
    'printf "hopbytes-rank %s %s %s %s .\\n" "${RANK:-?}" "${HOST:-$(hostname)}" "${cpus:-?}" '
    '"${CUDA_VISIBLE_DEVICES:-${ROCR_VISIBLE_DEVICES:-${ZE_AFFINITY_MASK:--}}}"'
)
_LINE = re.compile(r"hopbytes-rank (\S+) (\S+) (\S+) (\S+) \.")


@frozen
class Seen:
    """Where a rank runs."""

    host: str
    cpus: frozenset[int]  # CPU numbers of the operating system that the rank may run on
    gpus: str = ""  # visible devices according to the environment of the rank; "" if no variable is set


def probe_words(launcher: Launcher) -> tuple[str, ...]:
    """Return the probe, which a launcher starts in place of the user's program."""
    host = f"${{{launcher.host_variable}:-}}" if launcher.host_variable else ""
    return ("sh", "-c", f"RANK=${{{launcher.rank_variable}:-}}; HOST={host}; {_SCRIPT}")


def probe(start: Start, launcher: Launcher) -> tuple[dict[int, Seen], int, str]:
    """Run a probe; return where each rank runs, the exit code, and the error message of the launcher."""
    environment = {**os.environ, **dict(start.environment)}
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            start.words, env=environment, stdout=pipe, stderr=pipe, text=True, errors="replace",
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise UnsupportedError(f"{start.words[0]}: {error.strerror}, expected a launcher") from None
    with child:
        try:
            printed, error_text = child.communicate(timeout=PROBE_TIMEOUT)
        except subprocess.TimeoutExpired:
            stop(child)
            raise HopbytesError(f"{start.words[0]} did not end within {PROBE_TIMEOUT} seconds") from None
        except BaseException:
            stop(child)  # a launcher that is killed at once leaves its daemon behind
            raise
    return seen_in(printed), child.returncode, _tail(error_text or printed)


def seen_in(text: str) -> dict[int, Seen]:
    """Return the answers in the output of a probe, by rank."""
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
    """Return the last error message of a launcher as one line; Open MPI puts it between ruled lines."""
    lines = [line.strip() for line in text.splitlines() if not _LINE.search(line)]
    blocks = [" ".join(block.split()) for block in re.split(r"\n-{10,}\n", "\n".join(["", *lines, ""]))]
    worded = [block for block in blocks if re.search(r"[A-Za-z]{3}", block)]
    if not worded:
        return ""
    return worded[-1] if len(worded[-1]) <= MOST_CHARACTERS else f"{worded[-1][: MOST_CHARACTERS - 1]}…"
