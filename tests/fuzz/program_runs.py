"""Random runs as command lines: what ``hopbytes map`` writes and says beside what ``map_tasks`` returned."""

import os
import shutil
import tempfile
from pathlib import Path

import hopbytes as hb
from helpers.program_server import ProgramServer

#: Options of ``map_tasks`` whose values are words of the command line, and those that are flags of it.
WORDS = ("seed", "threads", "imbalance", "preset", "mapper", "objective", "work_limit", "tasks_per_node",
         "migration_price")  # fmt: skip
FLAGS = {"oversubscribe": "--oversubscribe", "pack": "--pack", "strict": "--strict-balance"}


class Program:
    """The program and a folder for its files."""

    def __init__(self) -> None:
        self.server = ProgramServer()
        self.folder = Path(tempfile.mkdtemp(prefix="hopbytes-random-"))

    def close(self) -> None:
        """Stop the program and remove its files."""
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def complaints(self, run, answer) -> list[str]:
        """Return in what the command line differs from the answer, a mapping or an error, of a run."""
        words = command(run, self.folder)
        if words is None:
            return []
        out = self.folder / "out.txt"
        out.unlink(missing_ok=True)
        done = self.server.run(words, None, self.folder, dict(os.environ), timeout=120)
        said = done.stderr.decode(errors="replace")
        called = "hopbytes " + " ".join(words)
        if isinstance(answer, hb.Mapping):
            if done.returncode:
                return [f"{called}: exit code {done.returncode}, {said!r}"]
            lines = [line for line in out.read_text().splitlines() if not line.startswith("#")]
            if lines != [str(pe) for pe in answer.pe.tolist()]:
                return [f"{called}: another mapping than map_tasks"]
            return []
        lines = said.splitlines()
        if done.returncode not in (1, 2) or len(lines) != 1 or "Traceback" in said:
            return [f"{called}: exit code {done.returncode}, {said[:999]!r}, expected a line as {answer!r}"]
        return [f"{called}: a file was written beside an error"] if out.exists() else []


def command(run, folder: Path) -> list[str] | None:
    """Return the words after ``hopbytes`` that mean the same; None where no words do."""
    options, graph = run.options, run.graph
    if run.place.spec is None or options.get("weight") == "unit":
        return None
    hb.write(graph, folder / "graph.npz", force=True)
    words = ["map", "graph.npz", "--on", run.place.spec, "-q"]
    words += ["-o", "out.txt", "--format", "plain", "--force"]
    for name in WORDS:
        if name in options:
            words += [f"--{name.replace('_', '-')}", str(options[name])]
    words += [flag for name, flag in FLAGS.items() if options.get(name)]
    words += [word for step in options.get("refine", ()) for word in ("--refine", step)]
    if options.get("weight") == "messages":
        words += ["--weight", "messages"]
    if "tasks_per" in options:
        words += ["--tasks-per", options["tasks_per"]]
    if "partition" in options:
        words.append("--partition" if options["partition"] else "--processes")
    elif graph.n < 8 * run.place.where.k or options.get("oversubscribe"):
        words.append("--processes")  # map_tasks knows no formats, which decide it here
    else:
        words.append("--partition")
    for name in ("fixed", "forbidden", "initial"):
        if name in options:
            lines = _lines(name, options[name])
            (folder / name).write_text("".join(f"{line}\n" for line in lines))
            words += [f"--{name}", name]
    return words


def _lines(name: str, value) -> list[str]:
    if name == "initial":
        return [str(pe) for pe in value.tolist()]
    pairs = value.items() if name == "fixed" else value
    return [f"{task} {pe}" for task, pe in pairs]
