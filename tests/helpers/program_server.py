"""The program without its start: a process that has imported it forks one for every command line.

What runs is a process of its own with its streams, folder, environment and exit code, as the installed
program has them, in a tenth of the time. Tests of the start itself call `helpers.paths.PROGRAM`; so does
:class:`ProgramServer` where a variable differs that an interpreter or an import reads.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: Beginnings of variables that are read before a command line is.
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "HOPBYTES_", "OMP_", "OPENBLAS_", "MKL_")
LARGEST_REQUEST = 1 << 20


class ProgramServer:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self.socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LARGEST_REQUEST)
        self.at_start = read_at_start(os.environ)
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()

    def close(self) -> None:
        """End the process."""
        self.socket.close()
        self.process.wait(60)

    def serves(self, environment: dict[str, str]) -> bool:
        """Whether a fork behaves as the program started in this environment."""
        return read_at_start(environment) == self.at_start

    def run(
        self, arguments: list[str], content: bytes | None, folder: Path, environment: dict[str, str],
        timeout: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command line with these bytes on standard input."""
        request = json.dumps([arguments, os.fspath(folder), environment]).encode("utf-8", "surrogateescape")
        assert len(request) < LARGEST_REQUEST
        pipes = [os.pipe() for _ in range(3)]
        given = [pipes[0][0], pipes[1][1], pipes[2][1]]
        socket.send_fds(self.socket, [request], given)
        for descriptor in given:
            os.close(descriptor)
        process = int(self.socket.recv(100))
        with ThreadPoolExecutor(3) as pool:
            pool.submit(write_all, pipes[0][1], content or b"")
            printed = [pool.submit(read_all, pipe[0]) for pipe in pipes[1:]]
            self.socket.settimeout(timeout)
            try:
                code = int(self.socket.recv(100))
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                self.socket.settimeout(None)
                self.socket.recv(100)
                raise subprocess.TimeoutExpired(arguments, timeout) from None
        return subprocess.CompletedProcess(arguments, code, *(one.result() for one in printed))


def read_at_start(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that are read before a command line is."""
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


def read_all(descriptor: int) -> bytes:
    """Read up to the end."""
    with open(descriptor, "rb") as file:
        return file.read()


def write_all(descriptor: int, content: bytes) -> None:
    """Write what a reader takes of it."""
    try:
        with open(descriptor, "wb", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
    except BrokenPipeError:
        pass


def serve(connection: socket.socket) -> None:
    """Fork for every request; return in the children alone, with the request as surroundings."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 3)
        if not request:
            os._exit(0)
        process = os.fork()
        if process == 0:
            connection.close()
            take(descriptors, *json.loads(request.decode("utf-8", "surrogateescape")))
            return
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def take(descriptors: list[int], arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Take over streams, arguments, folder and environment."""
    for wanted, descriptor in enumerate(descriptors):
        os.dup2(descriptor, wanted)
        os.close(descriptor)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        new = open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    sys.stderr.reconfigure(line_buffering=True)
    sys.argv[:] = ["hopbytes", *arguments]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)


def load() -> None:
    """Import what verbs import, also where they do so late."""
    import scipy.sparse  # noqa: F401

    import hopbytes

    for found in pkgutil.walk_packages(hopbytes.__path__, "hopbytes."):
        if not found.name.startswith(("hopbytes.mpi", "hopbytes.__main__")) and "._" not in found.name:
            with contextlib.suppress(ImportError):  # of what is not installed
                importlib.import_module(found.name)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))
    from hopbytes.cli import main

    main()
