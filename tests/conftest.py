"""Fixtures and markers for all tests; what is no fixture is in ``helpers/``."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from helpers.paths import PROGRAM, SHARED_SAMPLES
from helpers.program_server import ProgramServer
from helpers.real_mpi import RUN_AS_ROOT
from helpers.thorough import most

# Times are never asserted: computers that run the tests do other things as well.
settings.register_profile("hopbytes", deadline=None, max_examples=most(100, 40))
settings.load_profile("hopbytes")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure() -> None:
    """Let Ctrl-C end the programs that tests start: a shell that runs pytest in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `shared` where the developers' samples are missing."""
    if SHARED_SAMPLES.is_dir():
        return
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.skip(reason="no folder of developers' samples"))


@pytest.fixture(scope="session")
def program_server() -> Iterator[ProgramServer]:
    """Return what runs command lines without starting an interpreter for each."""
    server = ProgramServer()
    yield server
    server.close()


@pytest.fixture
def hopbytes(tmp_path: Path, program_server: ProgramServer) -> Run:
    """Run ``hopbytes ARGS`` in an empty folder; return its output and exit code."""

    def run(*arguments: object, stdin: str | bytes | None = None) -> subprocess.CompletedProcess[str]:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        words = list(map(str, arguments))
        environment = {**os.environ, "COLUMNS": "100"}
        if program_server.serves(environment):
            done = program_server.run(words, content, tmp_path, environment, timeout=60)
        else:
            done = subprocess.run(
                [PROGRAM, *words], input=content, stdin=subprocess.DEVNULL if content is None else None,
                capture_output=True, timeout=60, cwd=tmp_path, env=environment,
            )  # fmt: skip
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run


@pytest.fixture
def mpi_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, with an Open MPI that also starts for root."""
    monkeypatch.chdir(tmp_path)
    for variable, value in RUN_AS_ROOT.items():
        monkeypatch.setenv(variable, value)
    return tmp_path
