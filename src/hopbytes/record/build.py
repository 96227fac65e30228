"""Builds the interposer with the user's MPI compiler wrapper and keeps it for later recordings."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.compilers import compilers_of
from hopbytes.launch.launchers import Launcher
from hopbytes.record.application import Application, family_of, loaded_by, mpi_library
from hopbytes.record.belonging import family_started, is_own, maker_of, own_maker
from hopbytes.record.private import check_private, is_private_file
from hopbytes.util.leftovers import name_of_process, remove_left

SOURCES = (
    "interposer.c", "interposer.h", "interposer_calls.h", "interposer_components.h", "interposer_cut.h",
    "interposer_groups.h", "interposer_life.h", "interposer_order.h", "interposer_output.h",
)  # fmt: skip
FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-pthread", "-w")


def interposer(compiler: str = "mpicc", folder: Path | None = None) -> Path:
    """Return the library to preload; build it if it does not exist yet."""
    path = shutil.which(compiler)
    if path is None:
        raise UnsupportedError(
            f"{compiler}: compiler not found, expected the application's MPI compiler (`compiler='mpicc'`)"
        )
    here = Path(__file__).parent
    try:
        shown = subprocess.run([path, "-show"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{path}: {type(error).__name__}, expected an MPI compiler") from None
    # The name of the library depends on source, compiler and MPI, so that a change of any leads to a rebuild.
    content = b"\0".join([(here / name).read_bytes() for name in SOURCES])
    made_of = b"\0".join([content, os.path.realpath(path).encode(), shown.encode()])
    key = hashlib.sha256(made_of).hexdigest()[:16]
    folder = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hopbytes"
    target = folder / f"record-{key}.so"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private(str(folder))
        if is_private_file(str(target)):
            return target
        _build(path, here / SOURCES[0], target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{folder}: cannot build the interposer there: {error}") from None
    return target


def _build(compiler: str, source: Path, target: Path) -> None:
    """Build in a temporary folder and move the library at once, since other processes may build it too."""
    remove_left(str(target.parent), ".record-")
    with tempfile.TemporaryDirectory(prefix=name_of_process(".record-"), dir=target.parent) as private:
        part = os.path.join(private, target.name)
        words = [compiler, *FLAGS, str(source), "-o", part]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        if done.returncode:
            error = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
            raise UnsupportedError(f"{compiler}: cannot build the interposer: {error[:200]}")
        os.chmod(part, 0o700)
        os.replace(part, target)


def interposer_for(
    application: Application, command: LaunchCommand, compiler: str | None = None
) -> Path:
    """Return the interposer for an application's MPI, built with the given compiler or with one found."""
    wanted = f"{application.path} uses {application.library}"
    if not application.library:
        wanted = f"{command.tool} is the launcher of {own_maker(command.launcher) or 'any MPI'}"
    refused = []
    near = [compiler] if compiler else compilers_of(command, application.library, application.family)
    for candidate in near:
        try:
            library = interposer(candidate)
        except UnsupportedError as error:
            if compiler:
                raise
            refused.append(str(error))
            continue
        theirs = mpi_library(loaded_by(str(library)) or "")
        if _fits(application, command.launcher, theirs, named=bool(compiler)):
            return library
        maker = maker_of(theirs) or "another MPI"
        refused.append(f"{candidate}: its MPI is {maker} ({theirs or 'not found'})")
    if not refused:
        refused = [f"mpicc of {own_maker(command.launcher) or 'the program'}: not found"]
    expected = "expected the compiler of the application's MPI (`compiler='mpicc'`)"
    raise UnsupportedError(f"{'; '.join(refused)}; {wanted}, {expected}")


def _fits(application: Application, launcher: Launcher, library: str, *, named: bool) -> bool:
    """Return whether a compiler's MPI is that of the application or, if this is unknown, of the launcher.

    A compiler that the user named may belong to any MPI whose programs the launcher can start.
    """
    if application.library:
        return library == application.library
    family = family_started(launcher)
    return family in ("", family_of(library)) and (named or is_own(launcher, library))
