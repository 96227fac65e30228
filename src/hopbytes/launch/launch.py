"""Launches a user's program with a mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopbytes.errors import HopbytesError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.launchers import silent_end
from hopbytes.launch.passing import run_through
from hopbytes.launch.start import launch_files, prepare_start
from hopbytes.launch.verify import verify_launch
from hopbytes.model.mapping import Mapping

#: Stem of the files of a dry run if the caller gives none.
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
    """Write launch files, insert them into a command, run it, and return its exit code."""
    with launch_files(DRY if dry_run and stem is None else stem) as files:
        prepared = prepare_start(mapping, command, files, force=force, nameless=dry_run, **options)
        if dry_run:
            say(*prepared.notices, *prepared.receipt.notices, f"launch: {prepared.start.text()}")
            return 0
        say(*prepared.notices, f"launch: {prepared.start.text()}")
        if check:
            outcome = verify_launch(prepared.placed, command.words(), **options)
            if outcome.code:
                first = (*outcome.verdict.wrong, "the launcher failed")[0]
                raise HopbytesError(f"{first} ({outcome.summary()}); nothing was started")
            say(outcome.summary())
        code = run_through(prepared.start.words, dict(prepared.start.environment))
        silent = silent_end(command.launcher, prepared.start.words, code)
        if silent:
            say(f"{command.tool} ended with code 1; if it printed nothing: {silent}")
        return code
