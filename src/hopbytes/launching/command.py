"""A user's launch command taken apart and put together again with a placement in it."""

from __future__ import annotations

import dataclasses
import re
import shlex
from dataclasses import dataclass

from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.launching.launchers import Launcher, recognise

#: Options that may come several times, each time for something else.
REPEATED = ("genv", "o", "mca", "x")
#: A variable of a shell or of a launcher whose ranks get it by its words.
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it was typed, and the name it goes by (without dashes and value)."""

    name: str
    words: tuple[str, ...]

    @property
    def value(self) -> str:
        """Its value, "" when it has none."""
        if len(self.words) > 1:
            return self.words[1]
        rest = self.words[0].lstrip("-")[len(self.name) :]
        return rest.removeprefix("=")


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A launcher's command line.

    Parameters
    ----------
    launcher : Launcher
    start : tuple of str
        The words that start it: ``("mpirun",)``.
    options : tuple of Option
    program : tuple of str
        The program it starts, with its arguments; empty when none was given.
    """

    launcher: Launcher
    start: tuple[str, ...]
    options: tuple[Option, ...]
    program: tuple[str, ...]

    @classmethod
    def parse(cls, words: list[str]) -> LaunchCommand:
        """Take a command apart.

        Raises
        ------
        UnsupportedError
            No launcher that is known; several programs in one command.
        """
        launcher, size = recognise(words)
        options, program = _options(launcher, words[size:])
        command = cls(launcher, tuple(words[:size]), options, program)
        at_once = [o.words[0] for o in options if o.name in launcher.several]
        at_once += [":"] if ":" in program and launcher.form != "slurm" else []
        if at_once:
            what = f"{at_once[0]} starts several programs, expected one program for all ranks"
            raise UnsupportedError(f"{words[0]}: {what}")
        return command

    @property
    def count(self) -> int | None:
        """Number of ranks asked for; None when the command leaves it to the launcher."""
        for option in self.options:
            if option.name in self.launcher.counts and option.value.isdecimal():
                return int(option.value)
        return None

    def check_count(self, n: int) -> None:
        """Refuse a command for another number of ranks than n.

        Raises
        ------
        InfeasibleError
            Names both numbers.
        UnsupportedError
            The command has something else where the number of ranks belongs.
        """
        for option in self.options:
            if option.name in self.launcher.counts and not option.value.isdecimal():
                said = " ".join(option.words)
                raise UnsupportedError(f"{self.start[0]}: {said}, expected a number of ranks, {n} here")
        if self.count not in (None, n):
            raise InfeasibleError(
                f"{self.start[0]} starts {self.count} ranks, expected {n} as in the placement"
            )

    def placing(self) -> list[Option]:
        """Options that say where ranks go."""
        return [option for option in self.options if self._places(option)]

    def without_placing(self) -> LaunchCommand:
        """Return the command without them."""
        kept = tuple(option for option in self.options if not self._places(option))
        return dataclasses.replace(self, options=kept)

    def words(self) -> list[str]:
        """Return the command as a list of words."""
        return [*self.start, *(word for option in self.options for word in option.words), *self.program]

    def _places(self, option: Option) -> bool:
        if option.name in self.launcher.placing:
            return True
        about = option.value
        if option.name in ("mca", "gmca", "prtemca"):
            return about.startswith(self.launcher.settings or ("\0",))
        return option.name in ("o", "setopt") and about.startswith(("cpu-affinity", "gpu-affinity"))


def _options(launcher: Launcher, words: list[str]) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """Cut words into options and the program; the first word that is no option begins the program."""
    options: list[Option] = []
    place = 0
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
            # They read -n4 and -wn1; what follows the letter of a switch is more switches.
            options.append(Option(short[1], (word,)))
            place += 1
            continue
        follow = 0 if equals else launcher.values.get(name, 0)
        if name in ("genv", "env") and "=" in "".join(words[place + 1 : place + 2]):
            follow = 1  # Hydra reads both A=B and A B
        options.append(Option(name, tuple(words[place : place + 1 + follow])))
        place += 1 + follow
    return tuple(options), tuple(words[place:])


@dataclass(frozen=True, slots=True)
class Start:
    """What is executed: words, and environment variables set for this command alone."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return the command as a shell takes it."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*settings, shlex.join(self.words)])


def _check_nodes(command: LaunchCommand, ours: tuple[Option, ...]) -> None:
    """Refuse a command for another number of nodes than the placement uses."""
    if command.launcher.form not in ("slurm", "flux"):
        return
    used = next((option.value for option in ours if option.name == "N"), "")
    for option in command.options:
        if option.name in ("N", "nodes") and option.value.isdecimal() and option.value != used:
            said = " ".join(option.words)
            raise InfeasibleError(f"{command.start[0]}: {said}, expected {used} nodes as in the placement")


def _sets(option: Option) -> tuple[str, str] | None:
    """What an option sets, where it may come once for each of several things."""
    if option.name not in REPEATED or len(option.words) < 2:
        return None
    return option.name, option.words[1].partition("=")[0]


def placed(command: LaunchCommand, written: str) -> Start:
    """Put a placement into a user's command.

    Parameters
    ----------
    command : LaunchCommand
        Without options that place ranks.
    written : str
        The command a writer printed for this placement, with ``./app`` as its program.

    Returns
    -------
    Start
        The user's words in their order, with our options between launcher and theirs. Ours for hosts and
        the number of ranks are left away where the user has them.

    Raises
    ------
    InfeasibleError
        The command is for another number of nodes.
    """
    words = shlex.split(written)
    environment = []
    while ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment.append((name, value))
    ours, program = _options(command.launcher, words[len(command.start) :])
    launcher, typed = command.launcher, command.options
    if any(option.name == "map-by" and option.value == "seq" for option in ours):
        # A list of hosts that ranks take in sequence is the placement itself: it replaces the user's.
        typed = tuple(option for option in typed if option.name not in launcher.hosts)
    theirs = {option.name for option in typed}
    _check_nodes(command, ours)
    already = {_sets(option) for option in typed} - {None}
    added = []
    for option in ours:
        counts = option.name in launcher.counts and theirs & set(launcher.counts)
        names_hosts = option.name in launcher.hosts and theirs & launcher.hosts
        # Their own choice of anything else wins, unless an option may come several times.
        twice = option.name in theirs and (option.name not in REPEATED or _sets(option) in already)
        if not counts and not names_hosts and not twice:
            added.append(option)
    wrapper = program[:-1]  # sh place.sh, or nothing; the last word is the placeholder
    kept = [o for o in typed if not (launcher.counts_per_node and o.name in launcher.counts)]
    together = [*added, *kept]
    if launcher.assigns:  # which must stand behind all options
        together.sort(key=lambda option: not option.words[0].startswith("-"))
    words = [word for option in together for word in option.words]
    return Start((*command.start, *words, *wrapper, *command.program), tuple(environment))
