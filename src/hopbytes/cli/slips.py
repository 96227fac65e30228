"""Common mistakes on the command line: errors of the option parser say what was probably meant."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from click import NoSuchOption, UsageError

from hopbytes.errors import nearest

#: Options by the names that they have in other programs.
MEANT = {
    "--machine": "--on", "--topology": "--on", "--target": "--on", "--hardware": "--on",
    "--hostfile": "--hosts", "--machinefile": "--hosts", "--nodefile": "--hosts", "--nodelist": "--hosts",
    "--epsilon": "--imbalance", "--eps": "--imbalance", "--timeout": "--time-limit", "--overwrite": "--force",
    "--output-format": "--format", "--out": "--output", "--outfile": "--output",
}  # fmt: skip
#: What to do instead of options that verbs lack, for one verb (or all: "").
INSTEAD = {
    ("report", "--json"): "'hopbytes eval … --json' prints the same numbers",
    ("probe", "--json"): "the file that -o names is JSON",
    ("record", "--json"): "'hopbytes show PATTERN --json' prints what was recorded",
    ("run", "--json"): "'hopbytes map … --json' prints the mapping, 'verify --json' where ranks are",
    ("map", "--dry-run"): "without -o no file is written",
    ("write", "--dry-run"): "with -o - it prints and writes no file",
    ("", "-v"): "all messages are shown anyway (--all adds rows to tables, --version is the version)",
    ("", "--verbose"): "all messages are shown anyway (--all adds rows to tables)",
}  # fmt: skip
#: What to do instead of words that people try as verbs.
FORMER = {
    "convert": "'hopbytes write PATTERN -o FILE' converts patterns",
    "list": "'hopbytes show' lists the kinds of things, 'hopbytes show KIND' their names",
    "compare": "'hopbytes eval PATTERN MAPPING OTHER' sets mappings side by side",
    "locate": "'hopbytes verify -- LAUNCHER …' says where ranks are",
    "measure": "'hopbytes probe --measure' measures latency and bandwidth",
    "completion": "'hopbytes --completion SHELL' prints the script",
}
#: Launchers; the options that follow them belong to them.
LAUNCHERS = re.compile(
    r"(mpirun|mpiexec|mpiexec\.\w+|srun|prterun|prun|aprun|jsrun|flux|ibrun|mpirun_rsh|palsrun|orterun)(-.*)?"
)
LEVEL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*:(\[[0-9,]+\]|[0-9]+)(@[0-9]+)?(:[a-z]+=[^ ]*)*")


def unknown_verb(word: str, verbs: Iterable[str]) -> str:
    """Return the message about a word that is not a verb."""
    instead = FORMER.get(word)
    near = nearest(word, verbs, 0.5)
    hint = f"; {instead}" if instead else f"; did you mean {near[0]!r}?" if near else ""
    return f"{word!r} is not a verb{hint} (verbs: {', '.join(verbs)})"


def check(args: list[str]) -> None:
    """Refuse a machine whose levels are separate words, or a file instead of it, before they are read."""
    for index, word in enumerate(args):
        if word == "--":
            return
        if word == "--on" and index + 1 < len(args):
            _check_swapped(args[index + 1], args[:index] + args[index + 2 :])
            _check_quoted(args[index + 1 :])
        elif word.startswith("--on="):
            _check_quoted([word.removeprefix("--on="), *args[index + 1 :]])


def _check_swapped(machine: str, others: list[str]) -> None:
    """Refuse a file as machine when the pattern looks like a machine."""
    if os.path.isfile(machine):
        meant = next((word for word in others if _is_machine(word)), None)
        if meant is not None:
            right = f'{machine} --on "{meant}"'
            raise UsageError(f"the machine is given by --on, the pattern comes first: {right}")


def _check_quoted(words: list[str]) -> None:
    if os.path.isfile(words[0]):
        return
    levels: list[str] = []
    for word in words:
        if not all(LEVEL.fullmatch(part) for part in word.split()) or (levels and _is_pattern(word)):
            break
        levels.append(word)
    if len(levels) > 1:
        raise UsageError(f'quote the machine: --on "{" ".join(levels)}"')


def _is_pattern(word: str) -> bool:
    from hopbytes.patterns.base import is_pattern_spec

    return is_pattern_spec(word) or os.path.exists(word)


def explain(error: Any, args: list[str], options: set[str]) -> None:
    """Add to a usage error what was probably meant."""
    unknown = error.option_name if isinstance(error, NoSuchOption) else None
    if unknown is not None:
        error.message = f"no such option: {unknown}"
        names = {option.strip("-"): option for option in sorted(options)}
        error.possibilities = [names[name] for name in nearest(unknown.strip("-"), names, 0.75, most=2)]
    verb = error.ctx.info_name if error.ctx is not None else ""
    instead = INSTEAD.get((verb or "", unknown or ""), INSTEAD.get(("", unknown or "")))
    if instead is not None:
        error.message, error.possibilities = f"no such option: {unknown}; {instead}", None
        return
    launcher = next((word for word in args if LAUNCHERS.fullmatch(os.path.basename(word))), None)
    if launcher is not None and "--" not in args:
        rest = " ".join(args[args.index(launcher) :])
        error.message = f"{error.message.rstrip('.')}; put -- before the launcher: … -- {rest}"
        if unknown is not None:
            error.possibilities = None
    elif unknown is not None and MEANT.get(unknown) in options:
        error.message = f"{error.message.rstrip('.')}; did you mean {MEANT[unknown]}?"
        error.possibilities = None
    elif "unexpected extra argument" in error.message:
        error.message = error.message.replace("Got unexpected extra", "unexpected")
        machine = next((word for word in args if _is_machine(word)), None)
        if machine is not None and "--on" in options and not any(w.split("=")[0] == "--on" for w in args):
            error.message = f'{error.message.rstrip(".")}; the machine is given by --on: --on "{machine}"'
        elif "--output" in options and not any(re.match("-o|--output", word) for word in args):
            error.message = f"{error.message.rstrip('.')}; -o names the file to write"


def check_phases(patterns: list[str]) -> None:
    """Refuse several patterns that are not said to be phases."""
    if len(patterns) > 1:
        machine = next((word for word in patterns if _is_machine(word)), None)
        hint = "-o names the file to write, and --phase-weights makes patterns phases of a program"
        if machine is not None:
            hint = f'the machine is given by --on: --on "{machine}"'
        raise UsageError(f"unexpected extra argument ({patterns[1]}); {hint}")


def _is_machine(word: str) -> bool:
    levels = word.split()
    return bool(levels) and all(map(LEVEL.fullmatch, levels)) and not _is_pattern(word)
