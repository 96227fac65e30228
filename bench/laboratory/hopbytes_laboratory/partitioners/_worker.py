"""The worker process: partitions graphs with libraries that hold the interpreter lock during a call.

:mod:`hopbytes_laboratory.partitioners.pool` starts it with the descriptor of a socket and its own process id.
It may be killed at any time, because it owns only memory.

A request is one line of JSON to which the descriptor of an open graph file is attached. The reply is one
line of JSON, ``{"bytes": N}`` or ``{"error": TEXT}``, followed by N raw bytes (the block of every vertex as
int32). Imports are kept to a minimum, because the start-up time is part of every run.
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

from hopbytes_laboratory.partitioners._solvers import SOLVERS

_LINUX_SET_DEATH_SIGNAL = 1
_READ_SIZE = 1 << 16


def solve(
    file: int, max_weights: Sequence[int], seed: int, preset: str, backend: str = "kaminpar", threads: int = 1
) -> bytes:
    """Partition the ParHIP graph in the open file `file`."""
    return SOLVERS[backend](file, max_weights, seed, preset, threads)


def _receive(channel: socket.socket) -> tuple[dict[str, Any], int] | None:
    """Return a request and its file descriptor, or None if the other side has closed the channel."""
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
    """Ask the operating system to end this process with its parent, even during a call of a library."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(_LINUX_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call of prctl
        os._exit(0)


def main(arguments: Sequence[str]) -> None:
    """Serve the channel whose descriptor is the first argument; the second is the parent's process id."""
    import resource
    import signal

    die_with(int(arguments[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills this process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the parent closed the channel
        serve(socket.socket(fileno=int(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
