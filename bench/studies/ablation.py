"""What every stage of the presets is worth: J and CPU time without it.

    python -m bench.studies.ablation --out bench/results/ablation.jsonl [--presets fast,eco] [--seeds 3]
    python -m bench.studies.ablation --out many_blocks.jsonl --hierarchy 256 --distance 1 --presets fast,eco

A stage is a refiner of the preset's chain, which is left out, or an option of a step, which is put to the
value that turns it off (OFF); options of a refiner that does nothing for an input are not tried. Inputs: the
even half of suite `engine` in its own order, up to --most vertices; one thread, CPU seconds, J by the judge.
Runs with the same input and seed are compared; ± is the standard error of the mean over inputs. `arcs` is
what all searches together looked at, a measure of work that repeats itself. Interrupt it whenever you like;
rows of the same code are not run again. One seed over inputs up to 50 000 vertices takes about ten minutes.

Rule: a stage worth less than 0.1 % of J that takes more than 3 % of the time leaves the preset.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hopbytes as hb
from bench.evaluate import evaluate
from bench.instances import graphs
from bench.instances.suites import engine_suite
from bench.rivals.tools import code_digest
from bench.run import SEEDS, read_rows
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.solve.presets import Chain, presets
from hopbytes.util.options import describe

#: What turns an option off. An option of this name in any step is a stage, unless it already is off.
OFF: dict[str, int] = {
    "repetitions": 1, "initial_partitions": 1, "recombinations": 0, "coarse_recombinations": 0,
    "rounds": 0, "flow_rounds": 0, "overload_percent": 0, "cycles": 0, "chains": 1,
    "bisection_repetitions": 1, "region_growings": 1, "shared_hierarchies": 0, "relaxation_rounds": 0,
    "annealing_sweeps": 0, "starts": 0, "perturbations": 0, "repartitionings": 0,
}  # fmt: skip
IMBALANCE = 0.03
KEY = ("instance", "preset", "stage", "seed", "code", "hierarchy", "distance")
WHOLE = "whole"
Row = dict[str, Any]
Runs = dict[tuple[str, int], Row]  # by instance and seed
Levels = tuple[int, ...]  # numbers of PEs or distances of a hierarchy, innermost first


def stages(whole: Chain) -> Iterator[tuple[str, Chain]]:
    """Name of a stage, and the chain without it."""
    name = describe(mappers, whole.mapper).partition(":")[0]
    for field, step in switched_off(whole.mapper):
        yield f"{name}.{field}", dataclasses.replace(whole, mapper=step)
    for place, refiner in enumerate(whole.refiners):
        name = describe(refiners, refiner).partition(":")[0]
        rest = (whole.refiners[:place], whole.refiners[place + 1 :])
        yield name, dataclasses.replace(whole, refiners=rest[0] + rest[1])
        for field, step in switched_off(refiner):
            yield f"{name}.{field}", dataclasses.replace(whole, refiners=(*rest[0], step, *rest[1]))


def switched_off(step: Any) -> Iterator[tuple[str, Any]]:
    """Options of a step that do something, and the step without each."""
    for field in dataclasses.fields(step):
        if field.name in OFF and getattr(step, field.name) > OFF[field.name]:
            yield field.name, dataclasses.replace(step, **{field.name: OFF[field.name]})


def even_half(most: int) -> list[graphs.Prepared]:
    """Inputs that settings may be chosen on, the small ones first."""
    plain = engine_suite()[::2][::2]
    made = [graphs.prepare(instance) for instance in plain]
    return sorted((each for each in made if each.n <= most), key=lambda each: each.n)


def run(
    prepared: graphs.Prepared, graph: hb.CommGraph, steps: Chain, seed: int, levels: tuple[Levels, Levels]
) -> Row:
    """Map once to PEs of these hierarchy and distances; return J by the judge, CPU seconds and counters."""
    hierarchy, distance = levels
    where = hb.allocate(hierarchy=joined(hierarchy), distance=joined(distance))
    began = time.process_time()
    mapping = hb.map_tasks(
        graph, where, [steps.mapper, *steps.refiners], imbalance=IMBALANCE, seed=seed, threads=1,
        partition=True
    )  # fmt: skip
    seconds = time.process_time() - began
    judged = evaluate(prepared.arrays(), mapping.pe, hierarchy, distance, IMBALANCE)
    return {
        "family": prepared.family, "n": prepared.n, "comm_cost": judged["comm_cost"],
        "over_bound": judged["over_bound"], "cpu_seconds": seconds,
        "arcs": mapping.info["work"].get("arcs", 0),
    }  # fmt: skip


def joined(levels: Levels) -> str:
    """Numbers of the levels as the command line takes them."""
    return ":".join(map(str, levels))


def measure(options: argparse.Namespace) -> None:
    """Run what has no row yet: seed by seed, so that an early end has seen every stage."""
    code = code_digest("hopbytes")
    levels = (options.hierarchy, options.distance)
    done = {tuple(row.get(name) for name in KEY): row for row in read_rows(options.out)}
    with open(options.out, "a") as file:
        for seed in SEEDS[: options.seeds]:
            for prepared in even_half(options.most):
                graph = hb.read(str(prepared.path))
                for preset in options.presets:
                    rows: dict[str, Row] = {}
                    whole = presets[preset]()
                    for stage, steps in [(WHOLE, whole), *stages(whole)]:
                        refiner, _, field = stage.partition(".")
                        if field and refiner in rows and same(rows[refiner], rows[WHOLE]):
                            continue
                        key = (prepared.name, preset, stage, seed, code, *map(joined, levels))
                        row = done.get(key)
                        if row is None:
                            row = dict(zip(KEY, key, strict=True)) | run(prepared, graph, steps, seed, levels)
                            file.write(json.dumps(row) + "\n")
                            file.flush()
                        rows[stage] = row
                print(f"{prepared.name}, seed {seed}", file=sys.stderr, flush=True)


def same(row: Row, other: Row) -> bool:
    """Whether two runs looked at the same and found the same."""
    return all(row[name] == other[name] for name in ("comm_cost", "arcs"))


def report(rows: list[Row]) -> None:
    """Print one table per preset."""
    if not rows:
        return
    code = rows[-1]["code"]  # what was measured last
    levels = [rows[-1].get(name) for name in KEY[-2:]]
    runs: dict[tuple[str, str], Runs] = defaultdict(dict)
    for row in rows:
        if row["code"] == code and [row.get(name) for name in KEY[-2:]] == levels:
            runs[row["preset"], row["stage"]][row["instance"], row["seed"]] = row
    families = sorted({row["family"] for row in rows})
    for preset in dict.fromkeys(row["preset"] for row in rows):
        whole = runs[preset, WHOLE]
        print(f"\n`{preset}` on {len({name for name, _ in whole})} inputs, {len(whole)} runs each\n")
        print(f"| without | J, % | CPU | arcs | {' | '.join(families)} | leaves |")
        print("|---" * (5 + len(families)) + "|")
        for (of, stage), found in runs.items():
            if of == preset and stage != WHOLE:
                print(line(stage, found, whole, families))


def line(stage: str, found: Runs, whole: Runs, families: list[str]) -> str:
    """One stage: change of J in percent, share of CPU time, change of J by family, verdict."""
    pairs = [(row, whole[key]) for key, row in found.items() if key in whole]
    worth, error = change(pairs)
    time_, work = (
        math.exp(mean(math.log(max(row[name], 1e-3) / max(base[name], 1e-3)) for row, base in pairs))
        for name in ("cpu_seconds", "arcs")
    )
    cells = []
    for family in families:
        part = [(row, base) for row, base in pairs if row["family"] == family]
        cells.append(f"{change(part)[0]:+.2f}" if part else "-")
    leaves = worth < 0.1 and time_ < 0.97 and work < 0.995  # what does not work takes no time: noise
    sure = "" if abs(worth - 0.1) > 2 * error else " (within the error)"
    return (
        f"| `{stage}` | {worth:+.2f} ± {error:.2f} | {time_:.2f} | {work:.2f} | {' | '.join(cells)}"
        f" | {'yes' + sure if leaves else ''} |"
    )


def change(pairs: list[tuple[Row, Row]]) -> tuple[float, float]:
    """Percent by which J rises, and the standard error over inputs."""
    by_input: dict[str, list[float]] = defaultdict(list)
    for row, base in pairs:
        by_input[row["instance"]].append(math.log(row["comm_cost"] / base["comm_cost"]))
    each = [mean(values) for values in by_input.values()]
    middle = mean(each)
    spread = math.sqrt(mean((value - middle) ** 2 for value in each) / max(1, len(each) - 1))
    return 100 * math.expm1(middle), 100 * spread


def mean(values: Any) -> float:
    """Arithmetic mean."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def numbers(text: str) -> Levels:
    """Numbers of the levels as the command line gives them."""
    return tuple(int(each) for each in text.split(":"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--presets", type=lambda text: text.split(","), default=["fast", "eco", "strong"])
    parser.add_argument("--hierarchy", type=numbers, default=(4, 8, 6), help="innermost first")
    parser.add_argument("--distance", type=numbers, default=(1, 10, 100), help="innermost first")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--most", type=int, default=50_000, help="vertices of the largest input")
    parser.add_argument("--report", action="store_true", help="only print the tables of what is there")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if not options.report:
        measure(options)
    report(read_rows(options.out))


if __name__ == "__main__":
    main()
