"""The tools that are run: one class each, listed in one dictionary. A new rival is one more entry.

A tool says how to start it on a task, how to read its answer, and what identifies the code that ran.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import re
import shutil
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import child
from bench.rivals.needed import missing

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Task:
    """What every tool is asked: one input, one machine, one setting.

    Parameters
    ----------
    graph : Path
        METIS file.
    hierarchy, distance : tuple of int
        Innermost first.
    preset : str
    seed, threads : int
    imbalance : float
    """

    graph: Path
    hierarchy: tuple[int, ...]
    distance: tuple[int, ...]
    preset: str
    seed: int
    threads: int
    imbalance: float = 0.03


@dataclass(frozen=True)
class Answer:
    """What a tool gave back.

    Parameters
    ----------
    pe : int64[n]
    claimed : dict
        What the tool says of itself (its own cost and seconds): kept beside our numbers, never
        instead of them.
    """

    pe: NDArray[np.int64]
    claimed: dict[str, Any]

    @property
    def inner_seconds(self) -> float | None:
        """Seconds of mapping alone, without start-up and reading; verification counts when it is done."""
        seconds = self.claimed.get("seconds", {})
        return None if "map" not in seconds else float(seconds["map"]) + float(seconds.get("verify", 0.0))


class Tool(ABC):
    """One way to map."""

    presets: tuple[str, ...]
    #: Names of ``needed.py``: packages and programs without which it cannot be started.
    needs: tuple[str, ...] = ()

    def absent(self) -> str | None:
        """What is missing and how to get it, in one line; None where everything is installed."""
        return next((said for name in self.needs if (said := missing(name))), None)

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """What ran: a row is reused only while this stays the same. ImportError when not installed."""

    @abstractmethod
    def command(self, task: Task, out: Path) -> list[str]:
        """Command line of one whole process that maps `task` and writes its answer to `out`."""

    @abstractmethod
    def answer(self, out: Path, stdout: str) -> Answer:
        """Read what the process left."""


class SharedMap(Tool):
    """SharedMap as packaged in chszlablib: multisection on KaFFPa and Mt-KaHyPar."""

    presets = ("fast", "eco", "strong")
    needs: tuple[str, ...] = ("chszlablib",)

    def versions(self) -> dict[str, str]:
        """Version of the package that holds it."""
        return {"chszlablib": _version("chszlablib"), "child": _digest([HERE / "run_sharedmap.py"])}

    def command(self, task: Task, out: Path) -> list[str]:
        """Run the child script with this interpreter."""
        return [
            *child("bench.rivals.run_sharedmap"), str(task.graph),
            "--hierarchy", _colons(task.hierarchy), "--distance", _colons(task.distance),
            "--mode", task.preset, "--imbalance", str(task.imbalance),
            "--seed", str(task.seed), "--threads", str(task.threads), "--out", str(out),
        ]

    def answer(self, out: Path, stdout: str) -> Answer:
        """Binary int32 placements; the last line of stdout is the report."""
        return Answer(np.fromfile(out, np.int32).astype(np.int64), json.loads(stdout.splitlines()[-1]))


class Hopbytes(Tool):
    """The package under test, through its command line; ``stream`` reads the graph in blocks."""

    presets = ("fast", "eco", "strong", "turbo", "stream")

    def versions(self) -> dict[str, str]:
        """Version, and a digest of the installed files: a changed source is another tool."""
        return {
            "hopbytes": _version("hopbytes"), "code": code_digest("hopbytes"),
            "kaminpar": _version("kaminpar"), "numpy": _version("numpy"), "python": sys.version.split()[0],
        }

    def command(self, task: Task, out: Path) -> list[str]:
        """``hopbytes map`` as a user types it."""
        return [
            str(Path(sys.executable).parent / "hopbytes"), "map", str(task.graph),
            "--hierarchy", _colons(task.hierarchy), "--distance", _colons(task.distance),
            "--partition", "--imbalance", str(task.imbalance),
            *(["--stream"] if task.preset == "stream" else ["--preset", task.preset]),
            "--seed", str(task.seed), "--threads", str(task.threads),
            "-o", str(out), "--format", "plain", "--json", "--quiet",
        ]

    def answer(self, out: Path, stdout: str) -> Answer:
        """One PE per line, lines with ``#`` are comments; stdout is the JSON report."""
        return Answer(np.loadtxt(out, dtype=np.int64, ndmin=1), json.loads(stdout))


class Steiner(SharedMap):
    """Mt-KaHyPar's Steiner-tree mapping onto the complete graph of the PEs."""

    presets = ("default", "quality", "highest_quality")
    needs = ("mtkahypar",)

    def versions(self) -> dict[str, str]:
        """Version of the package."""
        return {"mtkahypar": _version("mtkahypar")}

    def command(self, task: Task, out: Path) -> list[str]:
        """Run the child script with this interpreter."""
        command = super().command(task, out)
        command[2] = "bench.rivals.run_steiner"
        return command


class Partitioner(SharedMap):
    """A partitioner through its Python package, by bench/rivals/run_partitioner.py."""

    def __init__(self, name: str, package: str, distribution: str, presets: tuple[str, ...]) -> None:
        self.name, self.presets = name, presets
        self.needs, self.distribution = (package,), distribution

    def versions(self) -> dict[str, str]:
        """Version of the package, and a digest of the child script."""
        return {
            self.distribution: _version(self.distribution), "child": _digest([HERE / "run_partitioner.py"])
        }

    def command(self, task: Task, out: Path) -> list[str]:
        """Run the child script with this interpreter."""
        command = super().command(task, out)
        command[2:3] = ["bench.rivals.run_partitioner", self.name]
        return command


class Kahip(Tool):
    """KaHIP's program ``global_multisection``, where it is on the path; one thread whatever is asked."""

    presets = ("fast", "eco", "strong")
    program = "global_multisection"
    needs = (program,)

    def versions(self) -> dict[str, str]:
        """Digest of the program: it names no version."""
        path = shutil.which(self.program)
        return {self.program: _digest([Path(path)]) if path else "absent"}

    def command(self, task: Task, out: Path) -> list[str]:
        """Run the program itself."""
        return [
            self.program, str(task.graph), f"--hierarchy_parameter_string={_colons(task.hierarchy)}",
            f"--distance_parameter_string={_colons(task.distance)}", f"--preconfiguration={task.preset}",
            f"--imbalance={100 * task.imbalance:g}", f"--seed={task.seed}", f"--output_filename={out}",
        ]

    def answer(self, out: Path, stdout: str) -> Answer:
        """One PE per line; seconds and J stand among what it prints."""
        seconds = [float(found) for found in re.findall(r"(?:took|for mapping) ([0-9.e+-]+)", stdout)]
        claimed: dict[str, Any] = {"seconds": {"map": sum(seconds)}}
        if found := re.search(r"objective J\(C,D,Pi'\) = (\d+)", stdout):
            claimed["comm_cost"] = int(found[1])
        return Answer(np.loadtxt(out, dtype=np.int64, ndmin=1), claimed)


TOOLS: dict[str, Tool] = {
    "sharedmap": SharedMap(), "hopbytes": Hopbytes(),
    "steiner": Steiner(), "kahip": Kahip(),
    "scotch": Partitioner("scotch", "scotchpy", "scotchpy64", ("speed", "default", "quality")),
    "metis": Partitioner("metis", "pymetis", "pymetis", ("kway", "recursive", "kway10")),
    "kaminpar": Partitioner("kaminpar", "kaminpar", "kaminpar", ("default", "eco", "strong")),
    "mtkahypar": Partitioner("mtkahypar", "mtkahypar", "mtkahypar", ("default", "quality")),
    "heistream": Partitioner("heistream", "chszlablib", "chszlablib", ("one_pass", "buffcut", "restream")),
}  # fmt: skip


def _colons(numbers: tuple[int, ...]) -> str:
    return ":".join(map(str, numbers))


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _digest(paths: list[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def code_digest(package: str) -> str:
    """Hash of a package's Python files and compiled modules, wherever the installation keeps them."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return "absent"
    files: set[Path] = set()
    for folder in spec.submodule_search_locations or []:
        files.update(Path(folder).rglob("*.py"))
        files.update(Path(folder).rglob("*.so"))
    core = importlib.util.find_spec(f"{package}._core")
    if core is not None and core.origin:
        files.add(Path(core.origin))
    return _digest(sorted(files))
