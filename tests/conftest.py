"""Fixtures and markers for all tests; what is no fixture is in ``helpers/``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

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


#: Set for the processes of tests where the tests that take long are left out.
QUICK = "HOPBYTES_QUICK_TESTS"
#: Names a file: a first run writes into it which tests passed, and later runs leave these out (`.ci/run`).
PASSED = "HOPBYTES_TESTS_PASSED"


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C end the programs that tests start: a shell that runs pytest in the background ignores it.

    The whole suite without a word about tests, as README.md starts it, is the quick part; CI and
    ``HOPBYTES_TESTS=all`` run everything.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        return
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = "0"  # the others would wait for ever for the tests of one that ended
    os.environ.pop(QUICK, None)
    words = config.option.markexpr or config.option.keyword or config.args_source.name == "ARGS"
    if not words and not os.environ.get("CI") and os.environ.get("HOPBYTES_TESTS") != "all":
        os.environ[QUICK] = "yes"


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start one process more than there are cores, unless a number is given: tests also wait for programs."""
    number = yield
    return number + ("PYTEST_XDIST_AUTO_NUM_WORKERS" not in os.environ)


class _FirstFailure:
    """Shows the first failure when it happens, not minutes later with all others."""

    def __init__(self, terminal: Any) -> None:
        self.terminal, self.shown = terminal, False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.shown:
            self.shown = True
            self.terminal.write_line("")
            self.terminal.write_sep("_", f"the first failure: {report.nodeid}", red=True)
            self.terminal.write_line(report.longreprtext)


class _Passed:
    """Writes the names of the tests that passed."""

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.names.add(_name(report.nodeid))

    def pytest_sessionfinish(self) -> None:
        self.path.write_text("".join(f"{name}\n" for name in sorted(self.names)))


def _name(node: str) -> str:
    """Return the name of a test without the group to which pytest-xdist adds it."""
    return re.sub(r"@[\w-]+$", "", node)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch for the first failure where the output is, and for what passes where a file wants to know."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or hasattr(session.config, "workerinput"):
        return
    session.config.pluginmanager.register(_FirstFailure(terminal))
    passed = os.environ.get(PASSED)
    if passed and not Path(passed).exists():
        session.config.pluginmanager.register(_Passed(Path(passed)))


def pytest_report_header() -> str | None:
    """Say what is left out."""
    if QUICK not in os.environ:
        return None
    return "the quick tests: those marked slow or launcher run in CI and with HOPBYTES_TESTS=all"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long in the quick tests, else begin with it; skip `shared` without samples."""
    if QUICK in os.environ:
        long = {item for item in items if any(map(item.get_closest_marker, ("slow", "launcher")))}
        config.hook.pytest_deselected(items=list(long))
        items[:] = [item for item in items if item not in long]
    items.sort(key=lambda item: not item.get_closest_marker("slow"))
    passed = Path(os.environ.get(PASSED, os.devnull))
    if passed.is_file():
        before = set(passed.read_text().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if _name(item.nodeid) in before])
        items[:] = [item for item in items if _name(item.nodeid) not in before]
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
    """Run ``hopbytes ARGS`` in an empty folder; return its output and exit code, which `code` asserts."""

    def run(
        *arguments: object, stdin: str | bytes | None = None, code: int | None = None
    ) -> subprocess.CompletedProcess[str]:
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
        out, err = done.stdout.decode(), done.stderr.decode()
        assert code in (None, done.returncode), f"exit code {done.returncode}\n{out}{err}"
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    return run


@pytest.fixture
def mpi_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, with an Open MPI that also starts for root."""
    monkeypatch.chdir(tmp_path)
    for variable, value in RUN_AS_ROOT.items():
        monkeypatch.setenv(variable, value)
    return tmp_path
