"""Building the interposer with the user's own compiler wrapper, once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from hopbytes.errors import UnsupportedError
from hopbytes.record.application import Application, loaded_by, mpi_library

SOURCES = (
    "interposer.c", "interposer.h", "interposer_calls.h", "interposer_components.h", "interposer_groups.h",
    "interposer_life.h",
)  # fmt: skip
FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-w")


def interposer(compiler: str = "mpicc", folder: Path | None = None) -> Path:
    """Return the library to preload, built if it is not there yet.

    Parameters
    ----------
    compiler : str
        The MPI compiler wrapper that belongs to the application's MPI.
    folder : Path, optional
        Where to keep it; by default the user's cache, in a folder all nodes see.

    Raises
    ------
    UnsupportedError
        No such compiler; it does not compile an MPI program.
    """
    path = shutil.which(compiler)
    if path is None:
        raise UnsupportedError(f"{compiler}: not there, expected the application's MPI compiler (--cc mpicc)")
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
    if target.exists():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{target.name}.{os.getpid()}"
        words = [path, *FLAGS, str(here / SOURCES[0]), "-o", str(part)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
            raise UnsupportedError(f"{path}: cannot build the interposer: {said[:200]}")
        os.replace(part, target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{folder}: cannot build the interposer there: {error}") from None
    return target


def interposer_for(application: Application, launcher: str, compiler: str | None = None) -> Path:
    """Return the library that fits an application's MPI: built with the compiler named, or with one found.

    Parameters
    ----------
    application : Application
    launcher : str
        The launcher as the user wrote it; its MPI's compiler is looked for beside it and by its suffix.
    compiler : str, optional

    Raises
    ------
    UnsupportedError
        No compiler; one of another MPI than the application's, which would load two of them.
    """
    refused = ""
    for candidate in [compiler] if compiler else _compilers(application, launcher):
        library = interposer(candidate)
        theirs = mpi_library(loaded_by(str(library)) or "")
        if not application.library or theirs == application.library:
            return library
        refused = refused or (
            f"{candidate}: its MPI is {theirs or 'not to be found'}, that of {application.path} is "
            f"{application.library}, expected the compiler of that one (--cc)"
        )
    missing = "mpicc: not there, expected the application's MPI compiler (--cc mpicc)"
    raise UnsupportedError(refused or missing)


def _compilers(application: Application, launcher: str) -> list[str]:
    """Return compiler wrappers that may belong to the application's MPI, the likeliest first."""
    folder, name = os.path.split(shutil.which(launcher) or launcher)
    suffix = os.path.splitext(name)[1]
    names = [f"mpicc{suffix}", os.path.join(folder, "mpicc"), "mpicc", f"mpicc.{application.family}"]
    found = [shutil.which(os.path.join(folder, names[0])), *map(shutil.which, names)]
    return list(dict.fromkeys(path for path in found if path))
