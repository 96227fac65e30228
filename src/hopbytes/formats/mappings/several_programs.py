"""Launch commands of several programs that share one MPI_COMM_WORLD."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping as Dictionary
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from hopbytes.errors import UnsupportedError, printable
from hopbytes.formats.base import Written
from hopbytes.formats.mappings.launch_files import PROGRAM
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

#: Commands whose programs follow each other behind colons; options before the first program are for all.
COLONS = re.compile(
    r"(?P<start>(?:[A-Z_]+=\S+ )*(?:mpirun|mpiexec|mpiexec\.hydra)) (?P<options>.*?)"
    rf"(?P<script>(?:sh \{{stem\}}\.place\.sh )?){re.escape(PROGRAM)}"
)
COUNT = re.compile(r"(?:^| )-np? [0-9]+(?= |$)")
#: Variables that Open MPI sets, which it does for one program only.
VARIABLE = re.compile(r"-x (\S+=\S+) ?")
SRUN = re.compile(
    rf"(?P<start>.*srun .*?)(?P<script>(?:sh \{{stem\}}\.place\.sh )?){re.escape(PROGRAM)}"
)
#: Formats whose commands are rewritten; Intel's, Cray's and others were not tried with several programs.
WITH_COLONS, WITH_FILE = ("openmpi", "hydra"), ("slurm",)


class Program(NamedTuple):
    """A program: number of its ranks, and its command, quoted for a shell."""

    tasks: int
    command: str


def programs_of(options: Dictionary[str, Any], mapping: Mapping) -> list[Program]:
    """Return the programs of a mapping; empty where there is only one.

    The pattern among the options of a writer names them, or the mapping itself if it was stored.
    """
    graph, n = options.get("graph"), mapping.n
    found = graph.meta.get("programs") if isinstance(graph, CommGraph) else mapping.info.get("programs")
    if not isinstance(found, list) or len(found) < 2:
        return []
    programs = []
    for one in found:
        words = one.get("command") if isinstance(one, dict) else None
        if not isinstance(words, list) or type(one.get("tasks")) is not int or one["tasks"] < 0:
            return []
        programs.append(Program(one["tasks"], shlex.join(str(word) for word in words)))
    return programs if sum(program.tasks for program in programs) == n else []


def with_programs(written: Written, programs: list[Program], form: str, stem: str) -> Written:
    """Return what a writer made with the commands of several programs.

    Parameters
    ----------
    written : Written
    programs : list of Program
        None are no change.
    form : str
        Name of the format.
    stem : str
        Name of the file, quoted for a shell, for lines in files.

    Notes
    -----
    Sources: mpirun(1) of Open MPI 4.1 and 5.0, ``mpiexec -help`` of MPICH (programs behind colons; tried with
    Open MPI 4.1.4 and 5.0.11 and MPICH 4.0.2), srun(1), section "multiple program configuration".
    """
    if not programs or not written.launch:
        return written
    if form in WITH_COLONS:
        lines = tuple(replace(line, command=_behind_colons(line.command, programs)) for line in written.lines)
        return replace(written, launch=_behind_colons(written.launch, programs), lines=lines)
    found = SRUN.fullmatch(written.launch) if form in WITH_FILE else None
    if found is None:
        notice = f"the command starts one program, not {len(programs)}: write openmpi, hydra or slurm"
        return replace(written, notices=(*written.notices, notice))
    odd = next((one.command for one in programs if printable(one.command, keep="\t") != one.command), None)
    if odd is not None:
        what = f"the command {odd[:60]!r} has control characters, expected none in a file of srun's programs"
        raise UnsupportedError(what)
    script = found["script"].replace("{stem}", stem)
    ends = list(accumulate(program.tasks for program in programs))
    rows = "".join(
        f"{end - program.tasks}-{end - 1} {script}{program.command}\n"
        for end, program in zip(ends, programs, strict=True) if program.tasks
    )
    files = {**written.files, ".programs.conf": f"# written by hopbytes: program of ranks\n{rows}"}
    return replace(written, files=files, launch=f"{found['start']}--multi-prog {{stem}}.programs.conf")


def _behind_colons(command: str, programs: list[Program]) -> str:
    """Return the command with `-n` and the command of each program."""
    found = COLONS.fullmatch(command)
    if found is None:
        return command
    variables = " ".join(VARIABLE.findall(found["options"]))
    options = COUNT.sub("", VARIABLE.sub("", found["options"])).strip()
    script = (f"env {variables} " if variables else "") + found["script"]
    parts = [f"-n {program.tasks} {script}{program.command}" for program in programs if program.tasks]
    return f"{found['start']} {options} " + " : ".join(parts)
