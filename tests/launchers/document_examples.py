"""Example lines of README.md and docs/ that start a launcher, or print what to type for one.

An example is every line in a fenced block without a language, or of ``sh``, ``bash`` or ``console``, that
runs hopbytes or a launcher. A comment behind it that names a launcher of `KINDS` says that it is for this one
alone. No examples are, each with its reason:

- a line with a placeholder in capitals, in brackets or with dots, as in ``hopbytes run --pattern PATTERN``:
  it says how commands are built;
- a block below the comment ``<!-- not run: REASON -->``: it cannot run on one computer. The reason is a must.

Two cores stand in for a cluster, so numbers of ranks and nodes are divided: ``-n 64`` becomes ``-n 8`` on
four hosts of two slots each, and so on (`SCALED`).
"""

import re
from dataclasses import dataclass

from helpers.paths import ROOT

BLOCK = re.compile(
    r"(?:^<!-- not run:(?P<reason>[^>]*)-->\n+)?^```(?:sh|bash|console)?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: Launchers as comments name them.
KINDS = {"Open MPI 5": "openmpi-5", "Open MPI 4": "openmpi-4", "MPICH": "hydra", "Slurm": "slurm"}
LAUNCHER = re.compile(r"(?:^| )(?:mpirun|mpiexec(?:\.hydra)?|srun) ")
FORMATS = re.compile(r"--format (?:openmpi|slurm|hydra|intel|pbs|lsf|newrank)\b")
PLACEHOLDER = re.compile(r"(?:^|[ =])[A-Z]{1,}[A-Z_]*(?:\.[a-z]+)?(?= |$)|\[-|…")
SCALED = (
    (re.compile(r"-n (?:64|256)\b"), "-n 8"),
    (re.compile(r"-n ?16\b|-n8\b"), "-n 4"),
    (re.compile(r"-N ?(?:8|16)\b"), "-N4"),
)


@dataclass(frozen=True)
class Example:
    """A line, where it stands, and why it is not run ("" where it is)."""

    document: str
    number: int
    command: str
    reason: str = ""
    only: str = ""

    @property
    def launches(self) -> bool:
        """A launcher is started; otherwise files for one are written and a command is printed."""
        return LAUNCHER.search(self.command) is not None

    def scaled(self) -> str:
        """The command with numbers for four hosts of two slots."""
        command = self.command
        for pattern, text in SCALED:
            command = pattern.sub(text, command)
        return command

    def __str__(self) -> str:
        return f"{self.document}:{self.number}"


def examples():
    """All example lines, in the order of the documents."""
    documents = [ROOT / "README.md", *pages()]
    return [one for path in documents if path.name != "cli.md" for one in examples_of(path)]


def name_of(path):
    """The path of a page below docs/, its name alone elsewhere."""
    folder = ROOT / "docs"
    return path.relative_to(folder).as_posix() if folder in path.parents else path.name


def pages():
    """Pages of docs/ that people wrote."""
    return [path for path in sorted((ROOT / "docs").rglob("*.md")) if "_made" not in path.parts]


def examples_of(path):
    """Example lines of one document."""
    text, found = path.read_text(), []
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start("body")) + 1
        for number, line in enumerate(block["body"].splitlines(), start=first):
            command = command_of(line)
            if command and not PLACEHOLDER.search(command):
                reason = (block["reason"] or "").strip()
                if block["reason"] is not None and len(reason) < 10:
                    raise AssertionError(f"{path.name}:{number}: not run, but for which reason?")
                comment = line.partition(" # ")[2]
                only = next((kind for said, kind in KINDS.items() if said in comment), "")
                found.append(Example(name_of(path), number, command, reason, only))
    return found


def command_of(line):
    """The command of a line that starts or prints a launcher; "" for any other line."""
    line = re.split(r"\s+# |\s{3,}", line.strip())[0].removeprefix("$ ")
    if re.match(r"launch(?:, [^:]*)?: ", line):  # what hopbytes printed
        return ""
    if " && " in line:
        line = line.split(" && ")[-1]
    line = re.sub(r"^\S*/hopbytes ", "hopbytes ", line)
    starts = re.match(r"(?:[A-Z_]+=\S+ )*(?:hopbytes|mpirun|mpiexec(?:\.hydra)?|srun) ", line)
    return line if starts and (LAUNCHER.search(line) or FORMATS.search(line)) else ""


def printed_launches():
    """Lines ``launch: …`` that the documents show as printed, with the command above each block."""
    found = []
    for path in (ROOT / "README.md", *pages()):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            shown = re.match(r"launch(?:, [^:]*)?: (.*)", line)
            if shown:
                found.append(Example(name_of(path), number, shown[1]))
    return found
