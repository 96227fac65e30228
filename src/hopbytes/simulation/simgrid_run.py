"""SimGrid's MPI as a child process with a time limit: it may crash, hang or print anything."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from hopbytes.errors import HopbytesError, MissingPackageError, UnsupportedError, printable
from hopbytes.util.leftovers import name_of_process, remove_left

PROGRAM = "smpirun"
#: A message takes latency + bytes / bandwidth, and flows share links fairly: no corrections for TCP.
PLAIN = (
    "--cfg=network/model:CM02", "--cfg=network/crosstraffic:no", "--cfg=network/TCP-gamma:0",
    "--cfg=network/weight-S:0", "--cfg=network/latency-factor:1", "--cfg=network/bandwidth-factor:1",
    "--cfg=network/optim:Full", "--cfg=smpi/host-speed:1Gf",
)  # fmt: skip
QUIET = ("--log=root.thresh:error", "--log=smpi_utils.thresh:info", "--log=root.fmt:%.15r|%m%n")
TIME = re.compile(r"^([0-9.]+(?:e[+-]?[0-9]+)?)\|Simulated time", re.MULTILINE)
#: Printed where processes wait forever, after which the simulator ends as if all was well.
STUCK = "Deadlock detected"
#: Characters of the program's last words that an error message has.
SHOWN = 160


def check_installed() -> None:
    """Raise MissingPackageError unless SimGrid's MPI is in PATH."""
    if shutil.which(PROGRAM) is None:
        raise MissingPackageError(
            f"grade replay needs SimGrid's {PROGRAM}, which is not in PATH (Debian: apt install "
            "libsimgrid-dev); the default, grade flows, needs nothing"
        )


def simulated_seconds(
    platform: Iterable[bytes], hosts: Sequence[str], actions: Iterable[str], *, timeout: float
) -> float:
    """Replay actions of MPI processes on a platform and return the simulated seconds."""
    remove_left(tempfile.gettempdir(), "hopbytes-")
    with tempfile.TemporaryDirectory(prefix=name_of_process("hopbytes-")) as folder:
        names = {name: os.path.join(folder, name) for name in ("platform.xml", "hosts", "actions", "list")}
        try:
            with open(names["platform.xml"], "wb") as stream:
                stream.writelines(platform)
            for name, lines in (("hosts", hosts), ("actions", actions), ("list", [names["actions"]])):
                with open(names[name], "w") as text:
                    text.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise UnsupportedError(f"{folder}: cannot be written: {error.strerror}") from None
        words = [
            PROGRAM, "-np", str(len(hosts)), "-platform", names["platform.xml"], "-hostfile", names["hosts"],
            *PLAIN, *QUIET, "--cfg=smpi/display-timing:yes", "--cfg=smpi/simulate-computation:no",
            "-replay", names["list"],
        ]  # fmt: skip
        return printed_time(words, folder, timeout)


def printed_time(words: Sequence[str], folder: str, timeout: float) -> float:
    """Run SimGrid in `folder` and return the simulated seconds it prints; see :func:`simulated_seconds`."""
    printed, code = run_alone(words, folder, timeout)
    found = TIME.search(printed)
    if STUCK in printed:
        raise HopbytesError(
            f"{words[0]}: some processes wait for messages that nobody sends, expected a complete trace"
        )
    if code or found is None:
        lines = [line.partition("|")[2] or line for line in printed.splitlines() if line.strip()]
        first = printable(lines[0])[:SHOWN] if lines else "it printed nothing"
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        raise HopbytesError(f"{words[0]} {ended} and no time: {first} (grade flows needs no simulator)")
    return float(found[1])


def run_alone(words: Sequence[str], folder: str, timeout: float) -> tuple[str, int]:
    """Run a program and all it starts as a group of processes, which is killed at the end."""
    path = os.path.join(folder, "printed")
    with open(path, "wb") as printed:
        try:
            child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise UnsupportedError(f"{words[0]}: {error.strerror}, expected SimGrid's {PROGRAM}") from None
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise HopbytesError(
                f"{words[0]} did not end within {timeout:g} seconds and was stopped (`time_limit` gives it "
                "more; grade flows needs no simulator)"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(2**20), code
