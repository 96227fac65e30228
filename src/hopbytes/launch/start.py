"""Writes launch files for a user's command, inserts them into the command, and runs it in this terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.exchange import Receipt, read_mapping, write
from hopbytes.formats.mappings.several_programs import checked_programs
from hopbytes.launch.command import LaunchCommand, Option, Start
from hopbytes.launch.installed import recognise, without_limits
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.text.leftovers import name_of_process, remove_left

#: Options of launchers that name a file of hosts.
HOST_FILES = ("hostfile", "machinefile", "f")
#: Number of attempts to remove a folder, and the seconds between two of them.
REMOVALS, BETWEEN_REMOVALS = 20, 0.1
#: Signals that are forwarded if they were sent to this process only.
PASSED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
    if hasattr(signal, name)
)
#: Signals whose default action ends a process, and the seconds to wait for that.
_ENDING = PASSED[:6]
_PAUSE = 0.3
#: si_code of a signal that the terminal sent to the whole process group, so the program received it too.
_FROM_KERNEL = 128


@frozen
class Prepared:
    """A command that is ready to be executed."""

    start: Start
    receipt: Receipt  # the files it uses
    mapping: Mapping  # the mapping that the command produces
    notices: tuple[str, ...] = ()  # what of the user's command was left out, and why


def checked_command(
    words: list[str], n: int | None, *, replace: bool = False, several: bool = False,
    suggestion: str = "`replace=True` removes them",
) -> LaunchCommand:
    """Parse a user's command and check that a mapping of n ranks can be inserted into it."""
    command = parsed(words) if several else LaunchCommand.parse(words)
    clashing = command.placing()
    if clashing and not replace:
        typed = ", ".join(option.words[0] for option in clashing)
        raise UnsupportedError(
            f"{words[0]}: {typed} also {'says' if len(clashing) == 1 else 'say'} where ranks go, expected a "
            f"command without ({suggestion})"
        )
    if n is not None:
        command.check_count(n)
    return command.without_placing()


def parsed(words: list[str]) -> LaunchCommand:
    """Parse a command, with several programs behind colons where that was tried with the launcher."""
    return LaunchCommand.parse(words, several=recognise(words)[0].colons)


def with_programs_of(command: LaunchCommand, graph: CommGraph, *, programs: bool = False) -> LaunchCommand:
    """Return a command that starts the programs of a pattern, if it has several."""
    of_file = checked_programs(graph.meta.get("programs"), graph.n)
    if not of_file:
        return command
    form = command.launcher.form
    if not command.launcher.colons:
        written = f"`hopbytes map FILE.programs --format {form}` writes the command"
        raise UnsupportedError(
            f"{command.tool}: the pattern has {len(of_file)} programs, expected Open MPI or Hydra"
            + (f" ({written})" if form == "slurm" else "")
        )
    if command.program:
        tasks = tuple(program.tasks for program in of_file)
        if command.counts != tasks:
            raise InfeasibleError(
                f"{command.tool} starts programs of {', '.join(map(str, command.counts))} ranks, expected "
                f"{', '.join(map(str, tasks))} as in the pattern, or a command without programs"
            )
        return command
    used = [program for program in of_file if program.tasks]
    if not programs:
        named = "; ".join(f"{program.tasks} ranks of {program.command[:200]!a}" for program in used)
        raise UnsupportedError(
            f"{command.tool}: no program, and the pattern's file names {named}: expected the programs in the "
            "command, or `programs=True` to start those of the file"
        )
    kept = tuple(option for option in command.options if option.name not in command.launcher.counts)
    first, *others = (
        LaunchCommand(command.launcher, command.start, (Option("n", ("-n", str(tasks))),), words)
        for tasks, words in used
    )
    return dataclasses.replace(first, options=(*kept, *first.options), others=tuple(others))


def machine_of_command(command: LaunchCommand) -> str:
    """Return the machine spec of a command: that of the host file it names, else that of the job."""
    for option in (option for part in command.parts for option in part.options):
        name = option.value if option.name in HOST_FILES else ""
        # A file that is missing is read as well, for the error; a pipe, or several files, are the launcher's.
        if os.path.isfile(name) or (name and "," not in name and not os.path.exists(name)):
            return f"job:{name}"
    return "job"


@contextlib.contextmanager
def launch_files(stem: str | None) -> Iterator[str]:
    """Yield a stem for launch files: the one given, or one in a folder that is removed afterwards."""
    if stem is not None:
        yield stem
        return
    with shared_folder() as folder:
        if not folder.isprintable() or ":" in folder:
            folder = os.path.relpath(folder)  # some characters are special (Format.forbidden_characters)
        yield os.path.join(folder, "placement")


@contextlib.contextmanager
def shared_folder() -> Iterator[str]:
    """Yield a new folder in the current one, which all nodes of a job usually share; remove it later."""
    # The name is chosen before the folder is created, so that a signal in between leaves no folder behind.
    # Processes that are about to end may still write there, so the removal is attempted several times.
    folder = ""
    try:
        try:
            remove_left(os.getcwd(), ".hopbytes-")
            folder = os.path.join(os.getcwd(), name_of_process(".hopbytes-"))
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise UnsupportedError(
                f"the current folder cannot take the files of a launch: {error.strerror}, expected a folder "
                "that is writable and that all nodes share"
            ) from None
        yield folder
    finally:
        for _ in range(REMOVALS):
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            if not os.path.lexists(folder):
                break
            time.sleep(BETWEEN_REMOVALS)


def prepare_start(
    mapping: Mapping, command: LaunchCommand, stem: str, *, force: bool = False, nameless: bool = False,
    **options: Any,
) -> Prepared:
    """Write launch files for a command and insert them into it."""
    # If the format can be read, the files are read back and compared with the mapping before anything is
    # started.
    command, notices = _without_nodes(command, len(set(mapping.where.node_of_pe[mapping.pe].tolist())))
    form = command.launcher.form
    if form == "openmpi":
        options["version"] = "4" if command.launcher.version == "4" else "5"
    if not nameless:
        _check_names(mapping, command, options.get("hosts"))
    info = {name: value for name, value in mapping.info.items() if name != "programs"}  # those of `command`
    receipt = write(Mapping(mapping.pe, mapping.where, info), stem, form, force=force, **options)
    written = receipt.mapping
    assert written is not None  # it is that of a mapping
    if mapping.where.hosts and options.get("hosts") is None:  # without names a file cannot be read back
        names_cores = form == "openmpi" and f"{stem}.hosts" in receipt.paths
        _check_written(read_mapping(stem, written.where, form, n=mapping.n), written, stem, names_cores)
    start = command.with_mapping(receipt.launch)
    if form == "slurm":
        start = dataclasses.replace(start, words=(*without_limits(os.environ), *start.words))
    return Prepared(start, receipt, written, notices)


def _without_nodes(command: LaunchCommand, used: int) -> tuple[LaunchCommand, tuple[str, ...]]:
    """Return a command of Slurm without its number of nodes, after a check that it is that of the mapping."""
    form = command.launcher.form
    given = [o for o in command.options if form in ("slurm", "flux") and o.name in ("N", "nodes")]
    for option in given:
        if option.value.isdecimal() and int(option.value) != used:
            typed = " ".join(option.words)
            raise InfeasibleError(f"{command.tool}: {typed}, expected {used} nodes as in the mapping")
    if form != "slurm" or not given:
        return command, ()
    typed = ", ".join(" ".join(option.words) for option in given)
    kept = tuple(option for option in command.options if option not in given)
    notice = (
        f"{typed} is left out of the command: the launch file names the {used} nodes, and srun has refused "
        "a number beside it since 23.11"
    )
    return dataclasses.replace(command, options=kept), (notice,)


def _check_names(mapping: Mapping, command: LaunchCommand, hosts: Any) -> None:
    """Refuse to start ranks on hosts whose names were invented."""
    nodes = int(mapping.where.machine.node_of_core()[-1]) + 1
    if nodes == 1 or hosts or mapping.where.hosts:
        return
    listed = any(option.name in command.launcher.hosts for option in command.options)
    if command.launcher.form == "openmpi" and listed and mapping.where.has_cores:
        if command.launcher.version != "4":
            return  # the rankfile refers to hosts by their position in the user's list
        what = "Open MPI 4 counts hosts of a batch system only, not of a hostfile"
        raise InfeasibleError(f"{nodes} nodes without names: {what}; expected `hosts` with their names")
    raise InfeasibleError(
        f"{nodes} nodes without names, expected `machine='job'`, or `hosts` with the names of all of them"
    )


def _check_written(again: Mapping, mapping: Mapping, stem: str, names_cores: bool) -> None:
    """Compare a file with the mapping: the slots where it names cores, else the nodes."""
    same = np.array_equal(again.pe, mapping.pe)
    if not names_cores:  # the cores are given in the command or in a script
        same = np.array_equal(again.where.node_of_pe[again.pe], mapping.where.node_of_pe[mapping.pe])
    if not same:
        raise HopbytesError(
            f"{stem}: the launch file differs from the mapping (internal error), expected the same slots; "
            "nothing was started"
        )


class _SignalDetector:
    """A second child process that tells whether a signal was sent to all processes of a job."""
    # A batch system that stops a job signals every process in it. A launcher that received this signal must
    # not receive it from this process again: the second signal makes it kill its processes at once. The child
    # waits for input; if a signal ends it, the signal was sent to all. The child ends with this process,
    # since its input is then closed.

    def __init__(self, before: set[int | signal.Signals]) -> None:
        self._before = before
        self._start()

    def _start(self) -> None:
        quiet = subprocess.DEVNULL
        self._waiting: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # without this child, every signal is forwarded
            self._waiting = subprocess.Popen(
                ["cat"], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, self._before) and None,
            )  # fmt: skip

    def received(self, number: int) -> bool:
        if self._waiting is None or number not in _ENDING:
            return False
        try:
            code = self._waiting.wait(_PAUSE)
        except subprocess.TimeoutExpired:
            return False
        self.end()
        self._start()
        return code == -number

    def end(self) -> None:
        if self._waiting is not None:
            self._waiting.communicate()


def run_through(words: Sequence[str], environment: Dictionary[str, str] | None = None) -> int:
    """Run a program with the streams of this process, forward signals, and return its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    wanted = set(PASSED) | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    detector = _SignalDetector(before)
    try:
        try:
            child = subprocess.Popen(
                words,
                env={**os.environ, **(environment or {})},
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before) and None,
            )
        except OSError as error:
            raise UnsupportedError(f"{words[0]}: {error.strerror}, expected a program") from None
        while child.poll() is None:
            info = signal.sigwaitinfo(wanted)
            if info.si_signo == signal.SIGCHLD or info.si_code == _FROM_KERNEL:
                continue
            if not detector.received(info.si_signo):
                child.send_signal(info.si_signo)
        code = child.returncode
    finally:
        detector.end()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return code if code >= 0 else 128 - code
