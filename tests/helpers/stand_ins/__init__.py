"""Stand-ins for launchers: each takes a line of options as one version does, or refuses it as that version.

A stand-in is a function of a version, the words of a command and the job, and returns where every rank runs
by the launcher's own rules; :mod:`helpers.stand_ins.versions` says which versions there are and where the
rules of each come from.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path


class RefusedError(Exception):
    """A launcher of this version does not start the program."""


@dataclass(frozen=True)
class Place:
    """Where a rank runs: its host, its CPUs (None: not bound) and its GPUs (None: not told)."""

    host: str
    cpus: frozenset[int] | None = None
    gpus: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Job:
    """Hosts of a job, with the CPUs of every core of each that the job may use, in logical order."""

    cores: dict[str, list[list[int]]]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        """Hosts as Slurm and Flux list them: by name and number."""
        return sorted(self.cores, key=_natural)

    def cpus(self, host: str) -> list[int]:
        """CPUs of a host in logical order."""
        return [cpu for core in self.cores[host] for cpu in core]


def _natural(host: str) -> list[tuple[str, int]]:
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", host)]


def words_of(line: str) -> tuple[dict[str, str], list[str]]:
    """Return what a shell makes of a line: variables that are set, and words."""
    words, variables = shlex.split(line), {}
    while re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return variables, words


@dataclass
class Taken:
    """The options of a command by name, in their order, and the words of the program."""

    options: list[tuple[str, str]]
    program: list[str]

    def get(self, *names: str, default: str | None = None) -> str | None:
        """Return the last value of an option under any of its names."""
        return next((value for name, value in reversed(self.options) if name in names), default)

    def number(self, *names: str) -> int:
        """Return the value of an option that has to be a number."""
        text = self.get(*names) or ""
        if not text.isdecimal():
            raise RefusedError(f"-{names[0]} {text!r}, expected a number")
        return int(text)


def take(words: list[str], values: dict[str, int], flags: set[str], *, dashes: int = 0) -> Taken:
    """Take words apart: options have `values` words, flags none; what is neither is refused.

    Parameters
    ----------
    dashes : int
        Number of dashes that long names must have; 0 for launchers that take one or two.
    """
    options, place = [], 0
    while place < len(words) and words[place].startswith("-"):
        dash, word = re.fullmatch(r"(--?)(.*)", words[place]).groups()
        name, equals, value = word.partition("=")
        if dashes and len(name) > 1 and len(dash) != dashes:
            raise RefusedError(f"unknown option {words[place]}")
        if name in flags and not equals:
            options.append((name, ""))
        elif name in values and equals:
            options.append((name, value))
        elif name in values:
            given = words[place + 1 : place + 1 + values[name]]
            if name in ("genv", "env") and "=" in "".join(given[:1]):  # Hydra takes A=B and A B
                given = given[:1]
            if len(given) < 1:
                raise RefusedError(f"option {name} needs a value")
            options.append((name, " ".join(given)))
            place += len(given)
        else:
            raise RefusedError(f"unknown option {words[place]}")
        place += 1
    if place == len(words):
        raise RefusedError("no program")
    return Taken(options, words[place:])


def lines_of(folder: Path, name: str) -> list[str]:
    """Return the lines of a file without comments and blank ones, for launchers that know comments."""
    path = folder / name
    if not path.is_file():
        raise RefusedError(f"cannot open {name}")
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line]


def by_script(program: list[str], folder: Path, variable: str, ranks: int) -> list[Place] | None:
    """Return what ``place.sh`` does with the rank in a variable; None where the program is no script.

    Another launcher's variable is inherited from a batch script of Slurm, as everywhere.
    """
    if program[:1] != ["sh"]:
        return None
    assert program[-1] == "./app"
    script = str(folder / program[1])
    return [_seen(script, Path(script).read_text(), variable, rank) for rank in range(ranks)]


@cache
def _seen(script: str, text: str, variable: str, rank: int) -> Place:
    folder = Path(script).parent / "only taskset"
    folder.mkdir(exist_ok=True)
    (folder / "taskset").write_text('#!/bin/sh\necho "$2" $CUDA_VISIBLE_DEVICES\n')
    (folder / "taskset").chmod(0o755)
    (folder / "app").write_text('#!/bin/sh\necho - $CUDA_VISIBLE_DEVICES\n')
    (folder / "app").chmod(0o755)
    set_here = {"SLURM_PROCID": "0", variable: str(rank), "PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script, str(folder / "app")], env=set_here, capture_output=True, text=True)
    if done.returncode:
        raise RefusedError(done.stderr)
    cpus, *gpus = done.stdout.split()
    bound = None if cpus == "-" else frozenset(numbers(cpus))
    return Place("", bound, tuple(numbers(gpus[0])) if gpus else None)


def numbers(text: str) -> list[int]:
    """Return the numbers of ``0-3,6``."""
    found = []
    for run in text.split(","):
        low, _, high = run.partition("-")
        if not low.isdecimal() or (high and not high.isdecimal()):
            raise RefusedError(f"{text!r}, expected numbers")
        found += range(int(low), int(high or low) + 1)
    return found


def bits(mask: int) -> frozenset[int]:
    """Return the CPUs of a mask."""
    return frozenset(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def placed(hosts: list[str], cpus: list[frozenset[int] | None], scripted: list[Place] | None) -> list[Place]:
    """Return the places of ranks on hosts: with the CPUs of the launcher, or those of the script."""
    if scripted is None:
        return [Place(host, own) for host, own in zip(hosts, cpus, strict=True)]
    return [Place(host, seen.cpus, seen.gpus) for host, seen in zip(hosts, scripted, strict=True)]


def local_ranks(hosts: list[str]) -> list[int]:
    """Return the number of every rank among those of its host, in ascending order of ranks."""
    seen: dict[str, int] = {}
    found = []
    for host in hosts:
        found.append(seen.get(host, 0))
        seen[host] = found[-1] + 1
    return found
