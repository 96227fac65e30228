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

import argparse
import multiprocessing
import secrets
import sys
import traceback
import warnings
from collections import Counter
from contextlib import closing, nullcontext
from multiprocessing.connection import Connection
from pathlib import Path

from hopbytes.errors import HopbytesWarning

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where helpers are

from program_runs import Program

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


def work(connection: Connection, by_program: bool) -> None:
    """Take numbers of cases from a connection and send how each ended."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", HopbytesWarning)  # what a result says about itself
    with closing(Program()) if by_program else nullcontext() as program:
        while (number := connection.recv()) is not None:
            connection.send(one(number, program))


class Worker:
    """A process that runs cases; what it prints before a crash goes to standard error."""

    def __init__(self, by_program: bool) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=work, args=(theirs, by_program))
        self.process.start()
        theirs.close()

    def ask(self, number: int, seconds: float) -> tuple[str, list[str], str]:
        """Return how a case ended; the process has ended as well after a crash, or if there is no answer."""
        try:
            self.connection.send(number)
            if self.connection.poll(seconds):
                answer: tuple[str, list[str], str] = self.connection.recv()
                return answer
        except (EOFError, OSError):
            self.process.join(60)
            return "crash", [f"ended with {self.process.exitcode}"], "unknown"
        self.process.kill()
        self.process.join()
        return "hang", [f"no answer within {seconds} seconds"], "unknown"


def main() -> int:
    """Run cases and report; 1 where anything was found."""
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--seed", type=int, help="a fresh one if left out")
    options.add_argument("--case", type=int, help="this one run alone, in this process")
    options.add_argument("--seconds", type=float, default=120, help="what a run may take")
    options.add_argument("--program", action="store_true", help="by the command line as well")
    given = options.parse_args()
    if given.case is not None:
        with closing(Program()) if given.program else nullcontext() as program:
            return repeated(given.case, program)
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"random runs: --runs {given.runs} --seed {seed}", flush=True)
    ends: Counter[str] = Counter()
    findings, worker = 0, Worker(given.program)
    for number in range(seed * SPAN, seed * SPAN + given.runs):
        if not worker.process.is_alive():
            worker = Worker(given.program)
        ended, found, said = worker.ask(number, given.seconds)
        ends[ended] += 1
        if found:
            findings += 1
            again = f"FINDING ({ended}): python tests/fuzz/random_runs.py --case {number}"
            again += " --program" * given.program
            print(again, said, *found, sep="\n", flush=True)
        done = number + 1 - seed * SPAN
        if done % 1000 == 0 and done < given.runs:
            print(f"random runs: {done} done, {findings} findings", flush=True)
    if worker.process.is_alive():
        worker.connection.send(None)
    worker.process.join()
    told = ", ".join(f"{count} {name}" for name, count in ends.most_common())
    print(f"random runs: {given.runs} done, {findings} findings ({told})", flush=True)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
