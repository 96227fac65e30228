"""Start a probe with the launch files of a mapping and compare."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from hopbytes.errors import HopbytesError
from hopbytes.formats.mappings.slot_symmetry import renumbered
from hopbytes.launching.command import LaunchCommand, Start
from hopbytes.launching.observed_placement import Verdict, compare, placement_by_node
from hopbytes.launching.placement_probe import Seen, probe, probe_words
from hopbytes.launching.start import checked_command, launch_files, prepare_start
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a probe found.

    Parameters
    ----------
    verdict : Verdict
    n : int
        Ranks of the mapping.
    command : str
        What was started.
    code : int
        0 all well, 1 some rank is elsewhere, else the exit code of the launcher.
    """

    verdict: Verdict
    n: int
    command: str
    code: int

    def summary(self) -> str:
        """Return one sentence."""
        checked = f"compared: {', '.join(self.verdict.checked)}"
        if not self.verdict.wrong:
            return f"verified: {self.n} ranks are where they belong; {checked}"
        ranks = len({sentence.split()[1] for sentence in self.verdict.wrong})
        return f"{ranks} of {self.n} ranks are not where they belong; {checked}"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
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
    """Start a probe as a launch would start the program, and compare with a mapping.

    Parameters
    ----------
    mapping : Mapping
    words : list of str
        A launch command, with or without a program, which is not started.
    stem : str, optional
        Of launch files to keep; otherwise they are removed.
    as_typed : bool
        The command has launch files of its own: nothing is written or added.
    hosts : tuple of str, optional
        Names of the nodes instead of the allocation's.
    force : bool
        Overwrite files that hopbytes did not write.
    **options
        For the writer.

    Raises
    ------
    UnsupportedError, InfeasibleError
        See :func:`hopbytes.launching.start.checked_command`.
    HopbytesError
        The launcher failed before any rank answered.
    """
    if as_typed:
        command = LaunchCommand.parse(words)
        return _outcome(mapping, mapping, _probing(command), command, hosts or ())
    command = checked_command(words, mapping.n, way_out="--as-typed takes the command as it is")
    command = dataclasses.replace(command, program=probe_words(command.launcher))
    with launch_files(stem) as files:
        if hosts is not None:
            options["hosts"] = hosts
        prepared = prepare_start(mapping, command, files, force=force, **options)
        return _outcome(mapping, prepared.placed, prepared.start, command, hosts or ())


def seen_launch(command: LaunchCommand) -> dict[int, Seen]:
    """Start a probe with a command as it is and return where each rank was seen.

    Raises
    ------
    HopbytesError
        No rank answered.
    """
    start = _probing(command)
    seen, code, said = probe(start, command.launcher)
    if code or not seen:
        raise HopbytesError(_failed(start, code, said))
    return seen


def placement_launched(where: Allocation, words: list[str]) -> Mapping:
    """Return the mapping of a real launch; see
    :func:`hopbytes.launching.observed_placement.placement_by_node`."""
    return placement_by_node(where, seen_launch(LaunchCommand.parse(words)), words[0])


def _probing(command: LaunchCommand) -> Start:
    """Return a command as it is, with the probe in place of its program."""
    return Start(tuple(dataclasses.replace(command, program=probe_words(command.launcher)).words()))


def _outcome(
    mapping: Mapping, placed: Mapping, start: Start, command: LaunchCommand, hosts: tuple[str, ...]
) -> Outcome:
    seen, code, said = probe(start, command.launcher)
    if not seen:
        raise HopbytesError(_failed(start, code, said))
    verdict = compare(placed, seen, hosts)
    if verdict.wrong and placed is mapping:
        # Slots renumbered inside nodes are just as good.
        alike = compare(Mapping(renumbered(mapping), mapping.where), seen, hosts)
        verdict = verdict if alike.wrong else alike
    return Outcome(verdict, mapping.n, start.text(), code or (1 if verdict.wrong else 0))


def _failed(start: Start, code: int, said: str) -> str:
    return f"{start.words[0]} ended with code {code} before any rank answered" + (f": {said}" if said else "")
