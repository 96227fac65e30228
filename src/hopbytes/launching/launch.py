"""Launch a user's program on a placement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopbytes.errors import HopbytesError
from hopbytes.launching.command import LaunchCommand
from hopbytes.launching.passing import run_through
from hopbytes.launching.start import launch_files, prepare_start
from hopbytes.launching.verify import verify_launch
from hopbytes.model.mapping import Mapping

#: Stem of the files of a dry run that were given no other.
DRY = "hopbytes-run"


def launch(
    mapping: Mapping,
    command: LaunchCommand,
    stem: str | None = None,
    *,
    dry_run: bool = False,
    check: bool = False,
    force: bool = False,
    say: Callable[..., None] = print,
    **options: Any,
) -> int:
    """Write launch files, put them into a command, run it, and return its exit code.

    Parameters
    ----------
    mapping : Mapping
    command : LaunchCommand
        From :func:`hopbytes.launching.start.checked_command`, with a program.
    stem : str, optional
        Of files to keep; otherwise they are removed afterwards.
    dry_run : bool
        Write the files and say the command, start nothing.
    check : bool
        Start a probe first, and the program only if every rank is where it belongs.
    force : bool
        Overwrite files that hopbytes did not write.
    say : callable
        Is told the command.
    **options
        For the writer.

    Raises
    ------
    HopbytesError
        A rank would not be where it belongs, or what was written says something else.
    """
    with launch_files(DRY if dry_run and stem is None else stem) as files:
        prepared = prepare_start(mapping, command, files, force=force, nameless=dry_run, **options)
        if dry_run:
            say(*prepared.receipt.notices, f"launch: {prepared.start.text()}")
            return 0
        say(f"launch: {prepared.start.text()}")
        if check:
            outcome = verify_launch(prepared.placed, command.words(), **options)
            if outcome.code:
                first = (*outcome.verdict.wrong, "the launcher failed")[0]
                raise HopbytesError(f"{first} ({outcome.summary()}); nothing was started")
        return run_through(prepared.start.words, dict(prepared.start.environment))
