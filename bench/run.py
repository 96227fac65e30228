"""Run tools over a suite, one at a time, one JSON line a run.

    python -m bench.run --suite foundation --out bench/results/foundation.jsonl \
        --tools sharedmap,hopbytes --presets fast,eco,strong --seeds 3

Interrupt it whenever you like: started again it skips every run whose row agrees in input, machine,
setting, versions and computer. Every failure is a row. Every answer is judged by bench/evaluate.py.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.evaluate import evaluate
from bench.instances import graphs
from bench.instances.fetch import fetch_all
from bench.instances.suites import SUITES, published, say_what_is_missing
from bench.rivals.measure import fingerprint, run_measured
from bench.rivals.tools import TOOLS, Task

#: Drawn once at random; ``--seeds 3`` takes the first three.
SEEDS = (7193, 40822, 15366, 88014, 2607, 61945, 33570, 94128, 50731, 12489)
#: A row is reused when all of these agree.
KEY = (
    "instance", "input_hash", "hierarchy", "distance", "problem", "imbalance",
    "tool", "preset", "seed", "threads", "versions", "machine",
)
Row = dict[str, Any]


def key_of(row: Row) -> str:
    """Return what identifies a run, as one text."""
    return json.dumps([row.get(name) for name in KEY], sort_keys=True)


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a results file; a last line cut off by an interrupt is dropped from the file.

    A compressed file (``.jsonl.xz``, as results are kept) is read only.
    """
    if not path.exists():
        return []
    if path.suffix == ".xz":
        return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]
    rows, whole = [], 0
    data = path.read_bytes()
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise SystemExit(f"{path}:{number}: not a JSON row ({error})") from error
        whole += len(line)
    if whole < len(data):
        os.truncate(path, whole)
    return rows


def planned(options: argparse.Namespace) -> Iterator[tuple[graphs.Instance, int, str, str]]:
    """Yield (instance, seed, preset, tool): the tools take turns, so that all meet the same machine state.

    One pass over all instances for each seed, so that a run that is ended early has seen all of them.
    """
    chosen = SUITES[options.suite]()
    if options.instances:
        known = {instance.name: instance for instance in chosen}
        missing = [name for name in options.instances if name not in known]
        if missing:
            raise SystemExit(f"no instance {missing[0]!r} in suite {options.suite} ({', '.join(known)})")
        chosen = [known[name] for name in options.instances]
    for seed in options.seeds:
        for instance in chosen:
            for preset in options.presets:
                for tool in options.tools:
                    yield instance, seed, preset, tool


def describe(
    prepared: graphs.Prepared, tool: str, preset: str, seed: int, options: argparse.Namespace
) -> Row:
    """Return the part of a row that is known before the run."""
    return {
        "instance": prepared.name, "family": prepared.family, "input_hash": prepared.digest,
        "n": prepared.n, "m": prepared.m,
        "hierarchy": ":".join(map(str, options.hierarchy)), "distance": ":".join(map(str, options.distance)),
        "problem": "partition", "imbalance": options.imbalance,
        "tool": tool, "preset": preset, "seed": seed, "threads": options.threads,
        "versions": TOOLS[tool].versions(), "machine": fingerprint(),
    }


def run_once(row: Row, prepared: graphs.Prepared, options: argparse.Namespace) -> Row:
    """Run one tool once; return its completed row, with an ``error`` when anything went wrong."""
    tool = TOOLS[row["tool"]]
    task = Task(
        prepared.path, tuple(options.hierarchy), tuple(options.distance),
        row["preset"], row["seed"], row["threads"], row["imbalance"],
    )
    row = {**row, "when": time.strftime("%Y-%m-%dT%H:%M:%S"), "error": None}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "mapping")
        try:
            measured = run_measured(
                tool.command(task, out), timeout=options.timeout, exact_memory=options.memory
            )
        except OSError as error:
            return {**row, "error": f"could not be started: {error}"}
        row.update(
            wall_seconds=measured.wall_seconds, cpu_seconds=measured.cpu_seconds,
            other_cpu_seconds=measured.other_cpu_seconds,
            peak_rss_bytes=measured.peak_rss_bytes, peak_memory_bytes=measured.peak_memory_bytes,
        )
        if measured.error:
            return {**row, "error": measured.error}
        try:
            answer = tool.answer(out, measured.stdout)
            row.update(inner_seconds=answer.inner_seconds, claimed=answer.claimed)
            row.update(
                evaluate(prepared.arrays(), answer.pe, task.hierarchy, task.distance, task.imbalance)
            )
        except Exception as error:  # whatever a tool left behind, the benchmark goes on
            return {**row, "error": f"unusable answer: {type(error).__name__}: {error}"}
    claimed = answer.claimed.get("comm_cost", row["comm_cost"])
    if claimed != row["comm_cost"]:
        row["error"] = f"claims J = {claimed}, the judge finds {row['comm_cost']}"
    return row


def summary(row: Row) -> str:
    """Return one line for the terminal."""
    name = f"{row['instance']:24} {row['tool'] + ':' + row['preset']:18} seed {row['seed']:<6}"
    if row["error"]:
        return f"{name} FAILED {row['error'].strip().splitlines()[-1][:120]}"
    flag = " OVER BOUND" if row["over_bound"] else ""
    inner = "" if row["inner_seconds"] is None else f" (map {row['inner_seconds']:.2f})"
    return (
        f"{name} J={row['comm_cost']:<10} wall {row['wall_seconds']:.2f} s{inner}"
        f" cpu {row['cpu_seconds']:.2f} other {row['other_cpu_seconds']:.2f}"
        f" rss {row['peak_rss_bytes'] / 2**20:.0f} MB{flag}"
    )


def numbers(separator: str) -> Any:
    """Return a parser of lists of integers, for argparse."""
    return lambda text: [int(part) for part in text.split(separator)]


def names(text: str) -> list[str]:
    """Parse ``a,b,c``."""
    return [part for part in text.split(",") if part]


def seed_list(text: str) -> list[int]:
    """Parse ``3`` (the first three of the fixed list) or ``5,17`` (these)."""
    return [int(part) for part in names(text)] if "," in text else list(SEEDS[: int(text)])


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), default="foundation")
    parser.add_argument("--out", type=Path, required=True, help="results file; rows are appended")
    parser.add_argument("--tools", type=names, default=["sharedmap", "hopbytes"], help=", ".join(TOOLS))
    parser.add_argument("--presets", type=names, default=["fast", "eco", "strong"])
    parser.add_argument("--instances", type=names, default=[], help="only these, by name")
    parser.add_argument("--instance-seed", type=int, default=graphs.DEFAULT_SEED)
    parser.add_argument("--fetch", action="store_true", help="load published graphs that are not here")
    parser.add_argument("--fresh", action="store_true", help="a new seed for generated graphs, printed")
    parser.add_argument("--seeds", type=seed_list, default=list(SEEDS[:3]), help="how many, or a,b,c")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--hierarchy", type=numbers(":"), default=[4, 8, 4], help="innermost first")
    parser.add_argument("--distance", type=numbers(":"), default=[1, 10, 100], help="innermost first")
    parser.add_argument("--imbalance", type=float, default=0.03)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per run")
    parser.add_argument("--memory", action="store_true", help="exact peak memory (slows runs a little)")
    parser.add_argument("--retry", action="store_true", help="run failed rows again")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.tools if name not in TOOLS]
    if unknown:
        parser.error(f"unknown tool {unknown[0]!r} (known: {', '.join(TOOLS)})")
    if options.fresh:
        options.instance_seed = secrets.randbelow(2**31)
        print(f"seed of the generated graphs and renumberings: {options.instance_seed}", file=sys.stderr)
    return options


def installed(tools: list[str]) -> list[str]:
    """Return the tools that can be started; say in one line each what the others need."""
    found = []
    for name in tools:
        if said := TOOLS[name].absent():
            print(f"{name} is left out: {said}", file=sys.stderr)
        else:
            found.append(name)
    if not found:
        raise SystemExit("no tool is left to run")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run everything that has no row yet."""
    options = parse(arguments)
    options.tools = installed(options.tools)
    if options.fetch:
        fetch_all(published(options.suite))
    say_what_is_missing(options.suite, sys.stderr)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = {key_of(row) for row in read_rows(options.out) if not (options.retry and row["error"])}
    with open(options.out, "a") as file:
        for instance, seed, preset, tool in planned(options):
            if preset not in TOOLS[tool].presets:
                continue
            prepared = graphs.prepare(instance, options.instance_seed)
            row = describe(prepared, tool, preset, seed, options)
            if key_of(row) in done:
                continue
            row = run_once(row, prepared, options)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(summary(row), file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Being told to stop ends the tool that runs, too; its row is not written.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
