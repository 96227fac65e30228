"""Parses a user's launch command."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil

from hopbytes._frozen import frozen
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.launch.launchers import ASSIGNMENT, Launcher, recognise

#: Launchers whose commands of several programs were tried.
SEVERAL = ("openmpi", "hydra")
#: Short options of srun whose value may follow at once or be missing: ``-K0``, ``-koff``.
OPTIONAL = "IkK"


@frozen
class Option:
    """An option as it was typed, and its name (without dashes and value)."""

    name: str
    words: tuple[str, ...]

    @property
    def value(self) -> str:
        """The value of the option, or "" if it has none."""
        if len(self.words) > 1:
            return self.words[1]
        rest = self.words[0].lstrip("-")[len(self.name) :]
        return rest.removeprefix("=")


@frozen
class LaunchCommand:
    """A launcher's command line."""

    launcher: Launcher
    #: the words of the launcher: ``("mpirun",)``, possibly preceded by ``env`` and assignments
    start: tuple[str, ...]
    options: tuple[Option, ...]
    program: tuple[str, ...]  # the program it starts, with its arguments; empty when none was given
    #: options and programs after ``:``, which are started together with the first
    others: tuple[LaunchCommand, ...] = ()

    @classmethod
    def parse(cls, words: list[str], kind: str | None = None, *, several: bool = False) -> LaunchCommand:
        """Parse a command."""
        launcher, size = recognise(words, kind)
        if several:
            parts = _at_colons(words[size:])
            start = tuple(words[:size])
            first, *others = (cls(launcher, start, *options_of(launcher, part)) for part in parts)
            command = dataclasses.replace(first, others=tuple(others))
        else:
            command = cls(launcher, tuple(words[:size]), *options_of(launcher, words[size:]))
        at_once = [o.words[0] for part in command.parts for o in part.options if o.name in launcher.several]
        if not several and _at_once(command):
            at_once.append(":")
        if at_once:
            expected = "one program for all ranks"
            if several and launcher.form in SEVERAL:
                expected = "all of them in the command: -n 2 ./a : -n 2 ./b"
            elif launcher.form == "slurm":
                expected += ", or the command that `hopbytes map FILE.programs --format slurm` writes"
            what = f"{at_once[0]} starts several programs, expected {expected}"
            raise UnsupportedError(f"{command.tool}: {what}")
        return command

    @property
    def parts(self) -> tuple[LaunchCommand, ...]:
        """This command and the parts after ``:``."""
        return (self, *self.others)

    @property
    def tool(self) -> str:
        """The launcher as it was typed, without the assignments of ``env``."""
        words = (word for word in self.start if os.path.basename(word) != "env")
        return next(word for word in words if not ASSIGNMENT.fullmatch(word))

    @property
    def count(self) -> int | None:
        """The number of ranks in the command; None if the command does not give it."""
        if self.others:
            counts = [dataclasses.replace(part, others=()).count for part in self.parts]
            return None if None in counts else sum(count or 0 for count in counts)
        for option in self.options:
            if option.name in self.launcher.counts and option.value.isdecimal():
                return int(option.value)
        return None

    def check_count(self, n: int) -> None:
        """Refuse a command that starts a number of ranks other than n."""
        for option in (option for part in self.parts for option in part.options):
            if option.name in self.launcher.counts and not option.value.isdecimal():
                typed = " ".join(option.words)
                raise UnsupportedError(f"{self.start[0]}: {typed}, expected a number of ranks, {n} here")
        if self.others and self.count is None:
            raise InfeasibleError(f"{self.tool}: several programs, expected -n with the ranks of each")
        if self.count not in (None, n):
            raise InfeasibleError(
                f"{self.tool} starts {self.count} ranks, expected {n} as in the mapping"
            )

    def placing(self) -> list[Option]:
        """Return the options that determine where ranks run, those of all programs."""
        return [option for part in self.parts for option in part.options if self._places(option)]

    def without_placing(self) -> LaunchCommand:
        """Return the command without the options that determine where ranks run."""
        kept = tuple(option for option in self.options if not self._places(option))
        others = tuple(part.without_placing() for part in self.others)
        return dataclasses.replace(self, options=kept, others=others)

    def starting(self, program: tuple[str, ...]) -> LaunchCommand:
        """Return the command with another program for all ranks."""
        others = tuple(part.starting(program) for part in self.others)
        return dataclasses.replace(self, program=program, others=others)

    def words(self) -> list[str]:
        """Return the command as a list of words."""
        words = list(self.start)
        for place, part in enumerate(self.parts):
            words += [":"] if place else []
            words += [*(word for option in part.options for word in option.words), *part.program]
        return words

    def _places(self, option: Option) -> bool:
        if option.name in self.launcher.placing:
            return True
        about = option.value
        if option.name in ("mca", "gmca", "prtemca"):
            return about.startswith(self.launcher.settings or ("\0",))
        return option.name in ("o", "setopt") and about.startswith(("cpu-affinity", "gpu-affinity"))


def _at_once(command: LaunchCommand) -> bool:
    """Return whether the words of a program contain a ``:`` behind which the launcher starts another."""
    if ":" not in command.program:
        return False
    behind = command.program[command.program.index(":") + 1 :]
    # Slurm: a heterogeneous job has options there; else the colon is an argument of the program.
    return command.launcher.form != "slurm" or (behind[:1] != () and behind[0].startswith("-"))


def _at_colons(words: list[str]) -> list[list[str]]:
    """Split the words of a command at each ``:``, where another program begins."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def options_of(launcher: Launcher, words: list[str]) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """Split words into options and the program, which begins at the first word that is no option."""
    options: list[Option] = []
    place = 0
    if launcher.form == "other":
        while place < len(words) and not (words[place][:1] != "-" and shutil.which(words[place])):
            place += 1
        return tuple(Option(word.lstrip("-"), (word,)) for word in words[:place]), tuple(words[place:])
    while place < len(words):
        word = words[place]
        if word == "--":
            return tuple(options), tuple(words[place + 1 :])
        assigned = ASSIGNMENT.fullmatch(word) if launcher.assigns else None
        if assigned:
            options.append(Option(assigned[1], (word,)))
            place += 1
            continue
        if not word.startswith("-") or word == "-":
            break
        name, equals, _ = word.lstrip("-").partition("=")
        short = re.fullmatch(r"-([A-Za-z])(.+)", word)
        if launcher.form in ("slurm", "flux") and short and not word.startswith("--"):
            # Slurm and Flux accept -n4 and -wn1; letters after that of a switch are further options: -ln4.
            if short[1] not in launcher.values and short[1] not in OPTIONAL and short[2][0].isalpha():
                words = [*words[:place], f"-{short[1]}", f"-{short[2]}", *words[place + 1 :]]
                continue
            options.append(Option(short[1], (word,)))
            place += 1
            continue
        follow = 0 if equals else launcher.values.get(name, 0)
        if name in ("genv", "env") and "=" in "".join(words[place + 1 : place + 2]):
            follow = 1  # Hydra accepts both A=B and A B
        options.append(Option(name, tuple(words[place : place + 1 + follow])))
        place += 1 + follow
    return tuple(options), tuple(words[place:])


@frozen
class Start:
    """A command to execute: its words, and environment variables that are set for this command only."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return the command quoted for a shell."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*settings, shlex.join(self.words)])
