"""Starts a probe with the launch files of a mapping and compares where the ranks run."""

from __future__ import annotations

from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError
from hopbytes.formats.mappings.launch_files import renumbered
from hopbytes.launch.command import LaunchCommand, Start
from hopbytes.launch.launchers import silent_end
from hopbytes.launch.observed_placement import Verdict, compare, placement_by_node
from hopbytes.launch.placement_probe import Seen, probe, probe_words
from hopbytes.launch.start import checked_command, launch_files, parsed, prepare_start
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping


@frozen
class Outcome:
    """The result of a probe."""

    verdict: Verdict
    n: int  # number of ranks of the mapping
    command: str  # the command that was started
    #: 0 if all ranks run where the mapping places them, 1 if some do not, else the launcher's exit code
    code: int

    def summary(self) -> str:
        """Return the result in one sentence."""
        checked = f"compared: {', '.join(self.verdict.checked)}"
        if not self.verdict.wrong:
            return f"verified: {self.n} ranks are where they belong; {checked}"
        ranks = len({sentence.split()[1] for sentence in self.verdict.wrong})
        return f"{ranks} of {self.n} ranks are not where they belong; {checked}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON."""
        return {
            "ranks": self.n,
            "wrong": list(self.verdict.wrong),
            "checked": list(self.verdict.checked),
            "command": self.command,
            "code": self.code,
        }


def verify_launch(
    mapping: Mapping,
    words: list[str],
    *,
    stem: str | None = None,
    as_typed: bool = False,
    hosts: tuple[str, ...] | None = None,
    force: bool = False,
    **options: Any,
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
        return _outcome(mapping, prepared.placed, prepared.start, command, hosts or ())


def seen_launch(command: LaunchCommand) -> dict[int, Seen]:
    """Start a probe with an unchanged command and return where each rank runs."""
    start = _probing(command)
    seen, code, error = probe(start, command.launcher)
    if code or not seen:
        raise HopbytesError(_failed(command, start, code, error))
    return seen


def placement_launched(where: Allocation, words: list[str]) -> Mapping:
    """Return the mapping of a real launch; see
    :func:`hopbytes.launch.observed_placement.placement_by_node`."""
    return placement_by_node(where, seen_launch(LaunchCommand.parse(words)), words[0])


def _probing(command: LaunchCommand) -> Start:
    """Return an unchanged command with the probe in place of its program."""
    return Start(tuple(command.starting(probe_words(command.launcher)).words()))


def _outcome(
    mapping: Mapping, placed: Mapping, start: Start, command: LaunchCommand, hosts: tuple[str, ...]
) -> Outcome:
    seen, code, error = probe(start, command.launcher)
    if not seen:
        raise HopbytesError(_failed(command, start, code, error))
    verdict = compare(placed, seen, hosts)
    if verdict.wrong and placed is mapping:
        # A mapping with slots renumbered inside symmetric nodes has the same distances, so it is accepted.
        symmetric = compare(Mapping(renumbered(mapping), mapping.where), seen, hosts)
        verdict = verdict if symmetric.wrong else symmetric
    return Outcome(verdict, mapping.n, start.text(), code or (1 if verdict.wrong else 0))


def _failed(command: LaunchCommand, start: Start, code: int, error: str) -> str:
    what = f"{command.tool} ended with code {code} before any rank answered"
    error = error or silent_end(command.launcher, start.words, code)
    return f"{what}: {error}" if error else what
