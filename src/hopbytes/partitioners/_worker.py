"""The worker process: partitions graphs with libraries that hold the interpreter lock while they work.

Started by :mod:`hopbytes.partitioners.pool` as ``python -m hopbytes.partitioners._worker CHANNEL PARENT`` (a
socket's number
and a process id). It may be killed at any moment: it owns nothing but its own memory.

A request is one line of JSON with the number of an open graph file attached to it; the reply is one
line of JSON, ``{"bytes": N}`` or ``{"error": TEXT}``, followed by N raw bytes (the block of every
vertex as int32). Only what is needed is imported, because the start-up time is part of every run.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any

from hopbytes.partitioners._solvers import SOLVERS

_LINUX_SET_DEATH_SIGNAL = 1
_READ_SIZE = 1 << 16


def solve(
    file: int, caps: Sequence[int], seed: int, preset: str, backend: str = "kaminpar", threads: int = 1
) -> bytes:
    """Partition the ParHIP graph in the open file number `file`.

    Parameters
    ----------
    file : int
        Number of an open file in this process.
    caps : sequence of int
        Largest weight of each block; always integers, because a relative bound is rounded up.
    seed : int
        Only its low 31 bits count.
    preset, backend : str
        Setting and name of the partitioner, see :data:`hopbytes.partitioners.backends.BACKENDS`.
    threads : int
        For those that use several.

    Returns
    -------
    bytes
        int32 per vertex: its block. The bounds may be broken: the caller checks.
    """
    return SOLVERS[backend](file, caps, seed, preset, threads)


def _receive(channel: socket.socket) -> tuple[dict[str, Any], int] | None:
    """Return a request and its file number; None when the other side is gone."""
    number = array.array("i")
    data, extras, _, _ = channel.recvmsg(_READ_SIZE, socket.CMSG_LEN(number.itemsize))
    for level, kind, payload in extras:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            number.frombytes(payload[: number.itemsize])
    parts = [data]
    while parts[-1] and not parts[-1].endswith(b"\n"):
        parts.append(channel.recv(_READ_SIZE))
    if not parts[-1] or not number:
        return None
    return json.loads(b"".join(parts)), number[0]


def serve(channel: socket.socket) -> None:
    """Answer requests until the other side closes the channel."""
    while (request := _receive(channel)) is not None:
        options, file = request
        try:
            answer = solve(file, **options)
            head: dict[str, Any] = {"bytes": len(answer)}
        except Exception as error:
            answer, head = b"", {"error": f"{type(error).__name__}: {error}"}
        finally:
            os.close(file)
        channel.sendall(json.dumps(head).encode() + b"\n" + answer)


def die_with(parent: int) -> None:
    """Ask the kernel to end this process with its parent, even in the middle of a call."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(_LINUX_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before the kernel knew
        os._exit(0)


def main(arguments: Sequence[str]) -> None:
    """Serve the channel whose number is the first argument, for the parent named by the second."""
    import resource
    import signal

    die_with(int(arguments[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # nobody waits any more
        serve(socket.socket(fileno=int(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
