"""Random calls of ``map_tasks``, each judged from the definitions.

    python tests/fuzz/random_runs.py --runs 2000          a fresh seed, which is printed
    python tests/fuzz/random_runs.py --runs 2000 --seed 7 the same runs again
    python tests/fuzz/random_runs.py --case 7000042       one of them again

A run ends in a right answer, or in an error of the package in one line. Anything else is a finding: a wrong
answer, another exception, a crash, a run that does not end. Runs happen in a process of their own, which is
started again after a crash or when a run takes longer than `--seconds`. On a build with sanitizers
(``.ci/sanitize``) what these find ends the process, so it is a finding like any crash. Every fourth answer is
asked for again with another number of threads. With `--program`, runs that a command line can express are
also made by the command line, and both answers are compared. The exit code is 1 where anything was found.
"""

from __future__ import annotations

import argparse
import json
import queue
import secrets
import subprocess
import sys
import threading
import traceback
import warnings
from collections import Counter
from contextlib import closing, nullcontext
from pathlib import Path

from hopbytes.errors import HopbytesWarning

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[1]))  # where helpers are

from program_runs import Program  # noqa: E402

#: Runs of one seed have numbers from seed times this.
SPAN = 10**6


def one(number: int, program: Program | None = None) -> tuple[str, list[str], str]:
    """Run a case; return how it ended, what is wrong with it, and what it was."""
    from drawn_runs import drawn
    from judging import complaints

    import hopbytes as hb

    said = "while drawing"
    try:
        run = drawn(number)
        said = run.said()
        try:
            mapping = run.map()
        except hb.HopbytesError as error:
            text = str(error)
            wrong = "\n" in text or not text or "internal error" in text
            found = [f"error {text!r}"] if wrong else []
            found += program.complaints(run, error) if program else []
            return f"{type(error).__name__}", found, said
        found = complaints(run, mapping.pe, mapping.info)
        found += program.complaints(run, mapping) if program else []
        if number % 4 == 0 and not found:
            again = run.map(threads=run.options["threads"] % 3 + 1)
            if again.pe.tolist() != mapping.pe.tolist():
                found.append("another number of threads gives another answer")
            if again.info["work"] != mapping.info["work"]:
                found.append(f"work {again.info['work']} with other threads, {mapping.info['work']} before")
        return "mapped", found, said
    except Exception:  # whatever it is: it is the finding
        return "exception", [traceback.format_exc()], said


def repeated(number: int, program: Program | None) -> int:
    """Run a case in this process and print it; 1 where anything was found."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", HopbytesWarning)
    ended, found, said = one(number, program)
    print(said, ended, *found, sep="\n")
    return bool(found)


def work(program: Program | None) -> int:
    """Take numbers of cases from standard input, write how each ended."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", HopbytesWarning)  # what a result says about itself
    for line in sys.stdin:
        print(json.dumps(one(int(line), program)), flush=True)
    return 0


class Worker:
    """A process that runs cases, and a thread that listens to it."""

    def __init__(self, options: list[str]) -> None:
        command = [sys.executable, str(HERE), "--work", *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.answers: queue.Queue[str] = queue.Queue()
        self.errors: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.complaining = threading.Thread(target=self._complain, daemon=True)
        self.complaining.start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def _complain(self) -> None:
        for line in self.process.stderr:
            self.errors.append(line)
            del self.errors[:-400]

    def ask(self, number: int, seconds: float) -> tuple[str, list[str], str]:
        """Return how a case ended."""
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            self.end()
            return "hang", [f"no answer within {seconds} seconds"], "unknown"
        except BrokenPipeError:
            line = ""
        if line:
            ended, found, said = json.loads(line)
            return ended, found, said
        self.end()
        self.complaining.join(5)
        code = self.process.returncode
        return "crash", [f"ended with {code}:\n" + "".join(self.errors[-60:])], "unknown"

    def end(self) -> None:
        """Stop the process, if it still runs."""
        self.process.kill()
        self.process.wait()


def main() -> int:
    """Run cases and report; 1 where anything was found."""
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--seed", type=int, help="a fresh one if left out")
    options.add_argument("--case", type=int, help="this one run alone, in this process")
    options.add_argument("--seconds", type=float, default=120, help="what a run may take")
    options.add_argument("--program", action="store_true", help="by the command line as well")
    options.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work or given.case is not None:
        with closing(Program()) if given.program else nullcontext() as program:
            return work(program) if given.work else repeated(given.case, program)
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"random runs: --runs {given.runs} --seed {seed}", flush=True)
    ends: Counter[str] = Counter()
    flags = ["--program"] if given.program else []
    findings, worker = 0, Worker(flags)
    for number in range(seed * SPAN, seed * SPAN + given.runs):
        if worker.process.poll() is not None:
            worker = Worker(flags)
        ended, found, said = worker.ask(number, given.seconds)
        ends[ended] += 1
        if found:
            findings += 1
            again = " ".join([f"FINDING ({ended}): python tests/fuzz/random_runs.py --case {number}", *flags])
            print(again, said, *found, sep="\n", flush=True)
        done = number + 1 - seed * SPAN
        if done % 1000 == 0 and done < given.runs:
            print(f"random runs: {done} done, {findings} findings", flush=True)
    worker.process.stdin.close()
    worker.process.wait()
    told = ", ".join(f"{count} {name}" for name, count in ends.most_common())
    print(f"random runs: {given.runs} done, {findings} findings ({told})", flush=True)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
