"""Launches a user's program with a mapping, or a probe in its place to see where ranks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError
from hopbytes.formats.mappings.launch_files import renumbered
from hopbytes.launch.command import LaunchCommand, Start
from hopbytes.launch.installed import silent_end
from hopbytes.launch.observed import Seen, Verdict, compare, mapping_by_node, probe, probe_words
from hopbytes.launch.start import checked_command, launch_files, parsed, prepare_start, run_through
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping

#: Stem of the files of a dry run if the caller gives none.
DRY = "hopbytes-run"


def launch(
    mapping: Mapping, command: LaunchCommand, stem: str | None = None, *, dry_run: bool = False,
    check: bool = False, force: bool = False, say: Callable[..., None] = print, **options: Any,
) -> int:
    """Write launch files, insert them into a command, run it, and return its exit code."""
    with launch_files(DRY if dry_run and stem is None else stem) as files:
        prepared = prepare_start(mapping, command, files, force=force, nameless=dry_run, **options)
        line = f"launch: {prepared.start.text()}"
        if dry_run:
            say(*prepared.notices, *prepared.receipt.notices, line)
            return 0
        say(*prepared.notices, line)
        if check:
            outcome = verify_launch(prepared.mapping, command.words(), **options)
            if outcome.code:
                first = (*outcome.verdict.wrong, "the launcher failed")[0]
                raise HopbytesError(f"{first} ({outcome.summary()}); nothing was started")
            say(outcome.summary())
        code = run_through(prepared.start.words, dict(prepared.start.environment))
        silent = silent_end(command.launcher, prepared.start.words, code)
        if silent:
            say(f"{command.tool} ended with code 1; if it printed nothing: {silent}")
        return code


@frozen
class Outcome:
    """The result of a probe."""

    verdict: Verdict
    n: int  # number of ranks of the mapping
    command: str  # the command that was started
    #: 0 if all ranks run where the mapping has them, 1 if some do not, else the launcher's exit code
    code: int

    def summary(self) -> str:
        checked = f"compared: {', '.join(self.verdict.checked)}"
        if not self.verdict.wrong:
            return f"verified: {self.n} ranks are where they belong; {checked}"
        ranks = len({sentence.split()[1] for sentence in self.verdict.wrong})
        return f"{ranks} of {self.n} ranks are not where they belong; {checked}"

    def to_dict(self) -> dict[str, Any]:
        verdict = {"wrong": list(self.verdict.wrong), "checked": list(self.verdict.checked)}
        return {"ranks": self.n, **verdict, "command": self.command, "code": self.code}


def verify_launch(
    mapping: Mapping, words: list[str], *, stem: str | None = None, as_typed: bool = False,
    hosts: tuple[str, ...] | None = None, force: bool = False, **options: Any,
) -> Outcome:
    """Start a probe in place of the program, and compare where ranks run with a mapping."""
    if as_typed:
        command = parsed(words)
        return _outcome(mapping, mapping, _probing(command), command, hosts or ())
    suggestion = "`as_typed=True` starts the command as it is"
    command = checked_command(words, mapping.n, suggestion=suggestion, several=True)
    command = command.starting(probe_words(command.launcher))
    with launch_files(stem) as files:
        if hosts is not None:
            options["hosts"] = hosts
        prepared = prepare_start(mapping, command, files, force=force, **options)
        return _outcome(mapping, prepared.mapping, prepared.start, command, hosts or ())


def seen_launch(command: LaunchCommand) -> dict[int, Seen]:
    """Start a probe with an unchanged command and return where each rank runs."""
    start = _probing(command)
    seen, code, error = probe(start)
    if code or not seen:
        raise _failed(command, start, code, error)
    return seen


def mapping_launched(where: Allocation, words: list[str]) -> Mapping:
    """Return the mapping of a real launch; see :func:`hopbytes.launch.observed.mapping_by_node`."""
    return mapping_by_node(where, seen_launch(LaunchCommand.parse(words)), words[0])


def _probing(command: LaunchCommand) -> Start:
    """Return an unchanged command with the probe in place of its program."""
    return Start(tuple(command.starting(probe_words(command.launcher)).words()))


def _outcome(
    mapping: Mapping, written: Mapping, start: Start, command: LaunchCommand, hosts: tuple[str, ...]
) -> Outcome:
    seen, code, error = probe(start)
    if not seen:
        raise _failed(command, start, code, error)
    verdict = compare(written, seen, hosts)
    if verdict.wrong and written is mapping:
        # A mapping with slots renumbered inside symmetric nodes has the same distances, so it is accepted.
        symmetric = compare(Mapping(renumbered(mapping), mapping.where), seen, hosts)
        verdict = verdict if symmetric.wrong else symmetric
    return Outcome(verdict, mapping.n, start.text(), code or (1 if verdict.wrong else 0))


def _failed(command: LaunchCommand, start: Start, code: int, error: str) -> HopbytesError:
    what = f"{command.tool} ended with code {code} before any rank answered"
    error = error or silent_end(command.launcher, start.words, code)
    return HopbytesError(f"{what}: {error}" if error else what)
