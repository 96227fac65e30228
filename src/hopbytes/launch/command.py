"""Parses a user's launch command, and inserts the options of a mapping into it."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
from importlib.resources import as_file, files

from hopbytes._frozen import frozen
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.formats.mappings.launchers import Launcher
from hopbytes.launch.installed import ASSIGNMENT, recognise

#: Short options of srun whose value may follow at once or be missing: ``-K0``, ``-koff``.
OPTIONAL = "IkK"
#: Options that may be given several times, each time for another variable or parameter.
REPEATED = ("genv", "o", "mca", "x")


@frozen
class Option:
    """An option as it was typed, and its name (without dashes and value)."""

    name: str
    words: tuple[str, ...]

    @property
    def value(self) -> str:
        if len(self.words) > 1:
            return self.words[1]
        rest = self.words[0].lstrip("-")[len(self.name) :]
        return rest.removeprefix("=")

    @property
    def variable(self) -> tuple[str, str] | None:
        """The option and the variable it sets, for options that may be given once per variable."""
        if self.name not in REPEATED or len(self.words) < 2:
            return None
        return self.name, self.words[1].partition("=")[0]


@frozen
class Start:
    """A command to execute: its words, and environment variables that are set for this command only."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*settings, shlex.join(self.words)])


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
        """Parse a command; if `several`, with programs behind ``:``."""
        launcher, size = recognise(words, kind)
        parts: list[list[str]] = [[]]
        for word in words[size:]:
            if several and word == ":":
                parts.append([])
            else:
                parts[-1].append(word)
        start = tuple(words[:size])
        first, *others = (cls(launcher, start, *options_of(launcher, part)) for part in parts)
        command = dataclasses.replace(first, others=tuple(others))
        at_once = [o.words[0] for part in command.parts for o in part.options if o.name in launcher.several]
        if not several and _starts_another(command):
            at_once.append(":")
        if at_once:
            expected = "one program for all ranks"
            if several and launcher.colons:
                expected = "all of them in the command: -n 2 ./a : -n 2 ./b"
            elif launcher.form == "slurm":
                expected += ", or the command that `hopbytes map FILE.programs --format slurm` writes"
            what = f"{at_once[0]} starts several programs, expected {expected}"
            raise UnsupportedError(f"{command.tool}: {what}")
        return command

    @property
    def parts(self) -> tuple[LaunchCommand, ...]:
        return (self, *self.others)

    @property
    def tool(self) -> str:
        """The launcher as it was typed, without the assignments of ``env``."""
        words = (word for word in self.start if os.path.basename(word) != "env")
        return next(word for word in words if not ASSIGNMENT.fullmatch(word))

    @property
    def counts(self) -> tuple[int | None, ...]:
        """The number of ranks of every program; None if the command does not give it."""
        options = ([o for o in part.options if self._counts(o)] for part in self.parts)
        numbers = ([int(o.value) for o in given if o.value.isdecimal()] for given in options)
        return tuple(known[0] if known else None for known in numbers)

    @property
    def count(self) -> int | None:
        """The number of ranks in the command; None if the command does not give it."""
        known = [number for number in self.counts if number is not None]
        return sum(known) if len(known) == len(self.parts) else None

    def check_count(self, n: int) -> None:
        for option in (option for part in self.parts for option in part.options):
            if self._counts(option) and not option.value.isdecimal():
                typed = " ".join(option.words)
                raise UnsupportedError(f"{self.start[0]}: {typed}, expected a number of ranks, {n} here")
        if self.others and self.count is None:
            raise InfeasibleError(f"{self.tool}: several programs, expected -n with the ranks of each")
        if self.count not in (None, n):
            raise InfeasibleError(f"{self.tool} starts {self.count} ranks, expected {n} as in the mapping")

    def placing(self) -> list[Option]:
        return [option for part in self.parts for option in part.options if self._places(option)]

    def without_placing(self) -> LaunchCommand:
        kept = tuple(option for option in self.options if not self._places(option))
        others = tuple(part.without_placing() for part in self.others)
        return dataclasses.replace(self, options=kept, others=others)

    def starting(self, program: tuple[str, ...]) -> LaunchCommand:
        others = tuple(part.starting(program) for part in self.others)
        return dataclasses.replace(self, program=program, others=others)

    def words(self) -> list[str]:
        words = list(self.start)
        for number, part in enumerate(self.parts):
            words += [":"] if number else []
            words += [*_typed(part.options), *part.program]
        return words

    def with_mapping(self, written: str) -> Start:
        """Return the command with the options of the command that a writer of a mapping made."""
        words = shlex.split(written)
        environment = []
        while ASSIGNMENT.fullmatch(words[0]):
            name, _, value = words.pop(0).partition("=")
            environment.append((name, value))
        own = len(self.start) - self.start.index(self.tool)  # `flux run` has two words
        ours, program = options_of(self.launcher, words[own:])
        launcher, typed = self.launcher, self.options
        if any(option.name == "map-by" and option.value.startswith("seq") for option in ours):
            # With `--map-by seq` the list of hosts is the mapping itself, so it replaces the user's list.
            typed = tuple(option for option in typed if option.name not in launcher.hosts)
        # The user's option is kept, unless it may be given once for every variable.
        together = [option for option in ours if not self._given(option, typed)]
        together += [o for o in typed if not (launcher.counts_per_node and self._counts(o))]
        if launcher.assigns:  # assignments must follow all options
            together.sort(key=lambda option: not option.words[0].startswith("-"))
        wrapper = program[:-1]  # `sh place.sh`, or nothing; the last word is the placeholder ./app
        words = [*self.start, *_typed(together), *wrapper, *self.program]
        for part in self.others:  # options before the first program are for all, but not those of variables
            theirs = {option.variable for option in part.options}
            variables = (option for option in ours if option.name == "x" and option.variable not in theirs)
            words += [":", *_typed((*variables, *part.options)), *wrapper, *part.program]
        return Start(tuple(words), tuple(environment))

    def _given(self, option: Option, typed: tuple[Option, ...]) -> bool:
        """Tell whether the user has already given an option of a mapping."""
        launcher, names = self.launcher, {other.name for other in typed}
        if self._counts(option) and names & set(launcher.counts):
            return True
        if option.name in launcher.hosts and names & launcher.hosts:
            return True
        if option.name in REPEATED and option.name in names:
            return option.variable in {other.variable for other in typed} - {None}
        return option.name in names

    def _counts(self, option: Option) -> bool:
        return option.name in self.launcher.counts

    def _places(self, option: Option) -> bool:
        if option.name in self.launcher.placing:
            return True
        if option.name in ("mca", "gmca", "prtemca"):
            return option.value.startswith(self.launcher.settings or ("\0",))
        return option.name in ("o", "setopt") and option.value.startswith(("cpu-affinity", "gpu-affinity"))


def _typed(options: tuple[Option, ...] | list[Option]) -> list[str]:
    return [word for option in options for word in option.words]


def _starts_another(command: LaunchCommand) -> bool:
    """Return whether the words of a program contain a ``:`` behind which the launcher starts another."""
    if ":" not in command.program:
        return False
    behind = command.program[command.program.index(":") + 1 :]
    # Slurm: a heterogeneous job has options there; else the colon is an argument of the program.
    return command.launcher.form != "slurm" or (behind[:1] != () and behind[0].startswith("-"))


def options_of(launcher: Launcher, words: list[str]) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """Split words into options and the program, which begins at the first word that is not an option."""
    options: list[Option] = []
    position = 0
    if launcher.form == "other":
        while position < len(words) and not (words[position][:1] != "-" and shutil.which(words[position])):
            position += 1
        return tuple(Option(word.lstrip("-"), (word,)) for word in words[:position]), tuple(words[position:])
    while position < len(words):
        word = words[position]
        if word == "--":
            return tuple(options), tuple(words[position + 1 :])
        assigned = ASSIGNMENT.fullmatch(word) if launcher.assigns else None
        if assigned:
            options.append(Option(assigned[1], (word,)))
            position += 1
            continue
        if not word.startswith("-") or word == "-":
            break
        name, equals, _ = word.lstrip("-").partition("=")
        short = re.fullmatch(r"-([A-Za-z])(.+)", word)
        if launcher.form in ("slurm", "flux") and short and not word.startswith("--"):
            # Slurm and Flux accept -n4 and -wn1; letters after that of a switch are further options: -ln4.
            if short[1] not in launcher.values and short[1] not in OPTIONAL and short[2][0].isalpha():
                words = [*words[:position], f"-{short[1]}", f"-{short[2]}", *words[position + 1 :]]
                continue
            options.append(Option(short[1], (word,)))
            position += 1
            continue
        follow = 0 if equals else launcher.values.get(name, 0)
        if name in ("genv", "env") and "=" in "".join(words[position + 1 : position + 2]):
            follow = 1  # Hydra accepts both A=B and A B
        options.append(Option(name, tuple(words[position : position + 1 + follow])))
        position += 1 + follow
    return tuple(options), tuple(words[position:])


def compiled(compiler: str, *words: str, what: str, text: str = "") -> str:
    """Run a compiler and return its output; UnsupportedError with the first error where it fails."""
    try:
        done = subprocess.run(
            [compiler, *words], capture_output=True, text=True, errors="replace", timeout=300, input=text
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{compiler}: {type(error).__name__}, expected an MPI compiler") from None
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
        raise UnsupportedError(f"{compiler}: cannot build {what}: {reason[:200]}")
    return done.stdout


def build_program(compiler: str, source: str, program: str) -> str:
    """Build a C program of this package and return its path; UnsupportedError if that is no MPI compiler."""
    with as_file(files("hopbytes").joinpath(f"launch/{source}")) as path:
        compiled(compiler, "-O2", "-std=gnu11", "-w", str(path), "-o", program, what="an MPI program")
    if not os.path.exists(program):
        raise UnsupportedError(f"{compiler}: cannot build an MPI program: it made none")
    return os.path.abspath(program)


def compilers_of(command: LaunchCommand, library: str = "", family: str = "") -> list[str]:
    """Return compiler wrappers that may belong to a launcher or to an MPI, the most likely first."""
    path = shutil.which(command.tool) or command.tool
    folder, name = os.path.split(path)
    suffix = os.path.splitext(name)[1]
    beside = [folder, os.path.dirname(os.path.realpath(path))]
    if library:  # lib/libmpi.so belongs to bin/mpicc; the library may be one folder deeper
        above = os.path.dirname(os.path.dirname(library))
        beside += [os.path.join(above, "bin"), os.path.join(os.path.dirname(above), "bin")]
    of_maker = (*command.launcher.compilers, "mpicc", "mpicc_abi")
    paths = [os.path.join(near, wrapper) for near in beside for wrapper in (f"mpicc{suffix}", *of_maker)]
    paths += [f"mpicc{suffix}", f"mpicc.{family or command.launcher.suffix}", *of_maker]
    return list(dict.fromkeys(path for path in map(shutil.which, paths) if path))
