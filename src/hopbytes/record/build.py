"""Building the interposer with the user's own compiler wrapper, once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from hopbytes.errors import UnsupportedError

SOURCES = ("interposer.c", "interposer.h", "interposer_calls.h")
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
