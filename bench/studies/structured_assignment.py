"""Quadratic assignment with groups within groups: gap of presets to the best cost found.

``python -m bench.studies.structured_assignment`` generates problems of 75, 125 and 175 tasks in the manner
of Drezner, Hahn and Taillard (2005, the instances taiNNe), maps each with

    hopbytes map flow.mat --on table:distance.mat --preset best --threads 1 --time-limit 10

and prints the gap to the best cost that any run has found, which `BEST_FOUND` holds.

Places form groups of groups. Distances are small within a group, larger between groups of one larger group,
and largest else, but only between places of the same colour; flows have the same structure, but between tasks
of different colours. All other pairs have no distance or flow, except for a few small ones. A good mapping
puts tasks of one colour on places of one colour, and groups on groups, so that only the few exceptions cost;
then whole groups have to change places to lower the cost further.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from bench.papers.qaplib import Instance, run, table
from hopbytes._arrays import Int64

#: Larger groups, groups in each, and members of each.
SHAPES = {75: (3, 5, 5), 125: (5, 5, 5), 175: (5, 5, 7)}
#: Share of pairs beyond the structure that have a small value nevertheless.
EXCEPTIONS = 0.026
#: Best costs that runs of any length have found, by tasks and number.
BEST_FOUND = {
    75: {1: 15_924, 2: 16_910, 3: 15_650},
    125: {1: 45_892, 2: 49_510, 3: 40_890},
    175: {1: 95_528, 2: 90_616, 3: 92_464},
}


def matrix(rng: np.random.Generator, shape: tuple[int, int, int], *, different: bool) -> Int64:
    """Return a symmetric matrix, with values between `different` colours or between equal ones."""
    outer, inner, members = shape
    group = np.arange(outer * inner * members) // members
    large = group // inner
    colour = np.zeros(len(group), np.int64)
    for i in range(outer * inner):
        colour[i * members + rng.permutation(members)[: (members + i % 2) // 2]] = 1

    def symmetric(values: Int64) -> Int64:
        above: Int64 = np.triu(values, 1)
        return above + above.T

    far = symmetric(rng.integers(26, 41, (outer, outer)))
    near = symmetric(rng.integers(9, 26, (outer * inner, outer * inner)))
    within = rng.integers(1, 11, (len(group), len(group)))
    small = rng.integers(1, 11, (3, len(group), len(group))).min(axis=0)
    exceptions = small * (rng.random((len(group), len(group))) < EXCEPTIONS)
    apart = np.where(
        large[:, None] == large[None, :], near[group[:, None], group[None, :]],
        far[large[:, None], large[None, :]],
    )
    linked = (colour[:, None] != colour[None, :]) == different
    values = np.where(linked, apart, exceptions)
    values = symmetric(np.where(group[:, None] == group[None, :], within, values))
    order = rng.permutation(len(group))
    return values[np.ix_(order, order)]


def instance(tasks: int, number: int) -> Instance:
    """Return a problem; the same numbers give the same problem."""
    rng = np.random.default_rng([tasks, number])
    flow, distance = (matrix(rng, SHAPES[tasks], different=different) for different in (True, False))
    return Instance(f"groups{tasks}-{number}", BEST_FOUND[tasks][number], flow, distance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="JSONL to append rows to")
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--work-limit", type=int, default=0, help="arcs, instead of seconds: repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", type=int, nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--numbers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--with", dest="options", default="--preset best", help="options of hopbytes map")
    chosen = parser.parse_args()
    rows = []
    for tasks in chosen.tasks:
        for number in chosen.numbers:
            problem = instance(tasks, number)
            row = run(problem, chosen.options.split(), chosen.seed, chosen.time_limit, chosen.work_limit)
            rows.append({**row, "family": f"n={tasks}"})
            if chosen.out is not None:
                with open(chosen.out, "a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
