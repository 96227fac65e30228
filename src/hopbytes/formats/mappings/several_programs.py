"""Launch commands of several programs that share one MPI_COMM_WORLD."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from hopbytes.errors import UnsupportedError, printable
from hopbytes.formats.base import Written
from hopbytes.formats.mappings.launchers import LAUNCHERS, PROGRAM
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

COUNT = re.compile(r"(?:^| )-np? [0-9]+(?= |$)")
#: Variables that Open MPI sets, which it does for one program only.
VARIABLE = re.compile(r"-x (\S+=\S+) ?")


class Program(NamedTuple):
    """A program: number of its ranks, and the words of its command."""

    tasks: int
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        return shlex.join(self.words)


def startable(words: Sequence[str]) -> bool:
    """Tell whether launchers take words as one program: it begins with a name, and ``:`` is no word of it."""
    named = bool(words) and not words[0].startswith("-") and words[0] != ""
    return named and ":" not in words and all(word.isprintable() for word in words)


def programs_of(options: Dictionary[str, Any], mapping: Mapping) -> list[Program]:
    """Return the programs of a mapping; empty where there is only one."""
    # The pattern among the options of a writer names them, or the mapping itself if it was stored.
    graph = options.get("graph")
    source = graph.meta if isinstance(graph, CommGraph) else mapping.info
    return checked_programs(source.get("programs"), mapping.n)


def checked_programs(records: Any, n: int) -> list[Program]:
    """Return the programs that a file names for n ranks; empty unless there are several sound ones."""
    if not isinstance(records, list) or len(records) < 2:
        return []
    programs = []
    for record in records:
        words = record.get("command") if isinstance(record, dict) else None
        if not isinstance(words, list) or type(record.get("tasks")) is not int or record["tasks"] < 0:
            return []
        programs.append(Program(record["tasks"], tuple(map(str, words))))
        if not startable(programs[-1].words):
            return []
    return programs if sum(program.tasks for program in programs) == n else []


def with_programs(written: Written, programs: list[Program], form: str, stem: str) -> Written:
    """Return what a writer made with the commands of several programs."""
    # Sources: mpirun(1) of Open MPI 4.1 and 5.0, ``mpiexec -help`` of MPICH (programs behind colons; tried
    # with Open MPI 4.1.4 and 5.0.11 and MPICH 4.0.2), srun(1), section "multiple program configuration", and
    # its ``multi_prog_get_argv`` on quotes.
    if not programs or not written.launch:
        return written
    used = [program for program in programs if program.tasks]
    if form in LAUNCHERS and LAUNCHERS[form].colons:
        lines = tuple(replace(line, command=_with_colons(line.command, used, stem)) for line in written.lines)
        return replace(written, launch=_with_colons(written.launch, used, stem), lines=lines)
    command = re.fullmatch(rf"(?P<start>.*srun .*?){_end(stem)}", written.launch) if form == "slurm" else None
    if command is None:
        notice = f"the command starts one program, not {len(programs)}: write openmpi, hydra or slurm"
        return replace(written, notices=(*written.notices, notice))
    odd = next((word for program in programs for word in program.words if printable(word) != word), None)
    if odd is not None:
        what = f"the word {odd[:60]!r} has control characters, expected none in a file of srun's programs"
        raise UnsupportedError(what)
    script = shlex.split(command["script"])
    rows = "".join(
        f"{end - program.tasks}-{end - 1} {' '.join(map(_for_srun, (*script, *program.words)))}\n"
        for end, program in zip(accumulate(program.tasks for program in used), used, strict=True)
    )
    files = {**written.files, ".programs.conf": f"# written by hopbytes: program of ranks\n{rows}"}
    named = ", ".join(f"{program.command} on {program.tasks} ranks" for program in used)
    return replace(
        written, files=files, launch=f"{command['start']}--multi-prog {stem}.programs.conf",
        notices=(*written.notices, f"{stem}.programs.conf starts what the pattern names: {named}"),
    )


def _for_srun(word: str) -> str:
    """Return a word quoted for ``--multi-prog``, where double quotes mean nothing and ``%t`` is a rank."""
    plain = re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", word)
    return word if plain else "'" + word.replace("'", r"'\''") + "'"


def _end(stem: str) -> str:
    """Return the expression of a command's end: the script of a file, if there is one, and the program."""
    return rf"(?P<script>(?:sh {re.escape(stem)}\.place\.sh )?){re.escape(PROGRAM)}"


def _with_colons(command: str, programs: list[Program], stem: str) -> str:
    """Return the command with `-n` and the command of each program; options before the first are for all."""
    start = r"(?P<start>(?:[A-Z_]+=\S+ )*(?:mpirun|mpiexec|mpiexec\.hydra))"
    parts = re.fullmatch(rf"{start} (?P<options>.*?){_end(stem)}", command)
    if parts is None:
        return command
    # The name of the file may look like an option, so it is set aside while options are taken out.
    options = parts["options"].replace(stem, "\0")
    variables = " ".join(VARIABLE.findall(options))
    options = COUNT.sub("", VARIABLE.sub("", options)).strip().replace("\0", stem)
    script = (f"env {variables} " if variables else "") + parts["script"]
    commands = (f"-n {program.tasks} {script}{program.command}" for program in programs)
    return f"{parts['start']} {options} " + " : ".join(commands)
