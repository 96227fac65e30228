"""Building the interposer with the user's own compiler wrapper, once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hopbytes.errors import UnsupportedError
from hopbytes.launching.command import LaunchCommand
from hopbytes.launching.launchers import Launcher
from hopbytes.record.application import Application, family_of, loaded_by, mpi_library
from hopbytes.record.belonging import family_started, is_own, maker_of, own_maker
from hopbytes.record.private import check_private, is_private_file

SOURCES = (
    "interposer.c", "interposer.h", "interposer_calls.h", "interposer_components.h", "interposer_cut.h",
    "interposer_groups.h", "interposer_life.h",
)  # fmt: skip
FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-pthread", "-w")
#: Compiler wrappers by the makers of their MPI, beside mpicc.
_WRAPPERS = {"intel": ("mpiicx", "mpiicc", "mpigcc"), "slurm": ("cc",), "pals": ("cc",)}


def interposer(compiler: str = "mpicc", folder: Path | None = None) -> Path:
    """Return the library to preload, built if it is not there yet.

    Parameters
    ----------
    compiler : str
        The MPI compiler wrapper that belongs to the application's MPI.
    folder : Path, optional
        Where to keep it; by default the user's cache, in a folder all nodes see. Nobody else may be able to
        write there: what is preloaded runs with the rights of who records.

    Raises
    ------
    UnsupportedError
        No such compiler; it does not compile an MPI program; a folder that others can write to.
    """
    path = shutil.which(compiler)
    if path is None:
        expected = "expected the application's MPI compiler (`compiler='mpicc'`)"
        raise UnsupportedError(f"{compiler}: not there, {expected}")
    here = Path(__file__).parent
    try:
        shown = subprocess.run([path, "-show"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{path}: {type(error).__name__}, expected an MPI compiler") from None
    # Another source, compiler or MPI makes another library.
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
    """Build in a folder of its own and put the whole library in place at once, whoever else does the same."""
    with tempfile.TemporaryDirectory(prefix=".record-", dir=target.parent) as private:
        part = os.path.join(private, target.name)
        words = [compiler, *FLAGS, str(source), "-o", part]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
            raise UnsupportedError(f"{compiler}: cannot build the interposer: {said[:200]}")
        os.chmod(part, 0o700)
        os.replace(part, target)


def interposer_for(
    application: Application, command: LaunchCommand, compiler: str | None = None
) -> Path:
    """Return the library that fits an application's MPI: built with the compiler named, or with one found.

    Parameters
    ----------
    application : Application
    command : LaunchCommand
        Its launcher's MPI counts where the application does not say which one it loads; the compiler is
        looked for beside the launcher and by its suffix.
    compiler : str, optional

    Raises
    ------
    UnsupportedError
        No compiler; one of another MPI than the application's, which would load two of them.
    """
    wanted = f"{application.path} uses {application.library}"
    if not application.library:
        wanted = f"{command.tool} is the launcher of {own_maker(command.launcher) or 'any MPI'}"
    refused = []
    for candidate in [compiler] if compiler else _compilers(application, command):
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
        refused.append(f"{candidate}: its MPI is {maker} ({theirs or 'not to be found'})")
    if not refused:
        refused = [f"mpicc of {own_maker(command.launcher) or 'the program'}: not there"]
    expected = "expected the compiler of the application's MPI (`compiler='mpicc'`)"
    raise UnsupportedError(f"{'; '.join(refused)}; {wanted}, {expected}")


def _fits(application: Application, launcher: Launcher, library: str, *, named: bool) -> bool:
    """Tell whether a compiler's MPI is the application's, or the launcher's where that is not known.

    A compiler that was named may be of another maker than the launcher, but of one whose programs it starts.
    """
    if application.library:
        return library == application.library
    family = family_started(launcher)
    return family in ("", family_of(library)) and (named or is_own(launcher, library))


def _compilers(application: Application, command: LaunchCommand) -> list[str]:
    """Return compiler wrappers that may belong to the application's MPI, the likeliest first."""
    found = shutil.which(command.tool) or command.tool
    folder, name = os.path.split(found)
    suffix = os.path.splitext(name)[1]
    beside = [folder, os.path.dirname(os.path.realpath(found))]
    if application.library:  # lib/libmpi.so and bin/mpicc of one place, or a folder deeper
        place = os.path.dirname(os.path.dirname(application.library))
        beside += [os.path.join(place, "bin"), os.path.join(os.path.dirname(place), "bin")]
    of_maker = (*_WRAPPERS.get(command.launcher.form, ()), "mpicc")
    paths = [os.path.join(place, wrapper) for place in beside for wrapper in (f"mpicc{suffix}", *of_maker)]
    paths += [f"mpicc{suffix}", *of_maker, f"mpicc.{application.family}"]
    return list(dict.fromkeys(path for path in map(shutil.which, paths) if path))
