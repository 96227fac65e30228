"""Starts a program with the library that orders its ranks, and the script that the library calls."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from hopbytes.errors import UnsupportedError
from hopbytes.formats.files import atomic_write
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.launch import DRY
from hopbytes.launch.start import launch_files, run_through
from hopbytes.mpi.inside import wrappers
from hopbytes.record.application import application_of, check_belongs
from hopbytes.record.interposer import Preloaded, handed_on, interposer_for, preloaded, with_preloaded

_HERE = Path(__file__).parent
_RECORD = _HERE.parent.parent / "record"
LIBRARY = Preloaded(
    "order", (
        _HERE / "order.c", Path(wrappers.__file__), _RECORD / "interposer.h", _RECORD / "interposer_clash.h",
    ), wrappers.wrappers,
)  # fmt: skip
#: Set for the hopbytes that rank 0 starts: whether rank 0 stays where it is ("first"), or may move ("any").
ANSWER = "HOPBYTES_INSIDE_ANSWER"
#: Names the script; the library does nothing without it.
SCRIPT = "HOPBYTES_INSIDE"


def start_inside(
    words: list[str], options: list[str], stem: str | None = None, *, compiler: str | None = None,
    dry_run: bool = False,
) -> tuple[int, str]:
    """Start a launch command; return its exit code and, if it was not started, how to do so."""
    command = LaunchCommand.parse(words, several=True)
    application = application_of(command)
    check_belongs(command, application)
    library = str(interposer_for(application, command, compiler, LIBRARY))
    with launch_files(DRY if dry_run and stem is None else stem) as files:
        script = os.path.abspath(f"{files}.order.sh")
        atomic_write({script: _script(options)})
        settings = handed_on(command, {"LD_PRELOAD": preloaded(library), SCRIPT: script})
        if any("LD_PRELOAD" in word for word in words):
            words = with_preloaded(command, library).words()
        if dry_run:
            shown = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
            return 0, " ".join([*shown, shlex.join(words)])
        return run_through(words, settings), ""


def _script(options: list[str]) -> str:
    """Return the script: it calls this hopbytes in this folder, and rank 0 may move if it has no input."""
    try:
        reads = not os.path.samestat(os.fstat(0), os.stat(os.devnull))
    except OSError:  # standard input is closed
        reads = False
    folder = os.getcwd()
    if not folder.isprintable():
        raise UnsupportedError("the current folder has unprintable characters, expected another one")
    setting = f"{ANSWER}={'first' if reads else 'any'}"
    words = ["exec", "env", setting, sys.executable, "-m", "hopbytes", *options]
    return f"#!/bin/sh\n# written by hopbytes\ncd {shlex.quote(folder)} || exit\n{shlex.join(words)}\n"
