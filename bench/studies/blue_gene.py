"""Traffic that a Blue Gene/Q counted: its hop-bytes computed here, and those after mapping.

    python -m bench.studies.blue_gene --out blue_gene.jsonl
    python -m bench.studies.blue_gene --samples ../shared/samples/bgq --out bench/results/blue_gene.jsonl

The first command takes six small cases that the repository has, the second all sixteen. The data set
par-comm-data (github.com/takanori-fujiwara/par-comm-data; VAST 2017; CC BY 4.0) has for every pair of ranks
the bytes and the hops that its messages took on the five-dimensional torus of Vesta, with MiniMD, MiniAMR
and the benchmarks of Intel (IMB). A case is a file of edges, a file with the place of every node, and a
line of ``cases.tsv`` with the hop-bytes that follow from what the machine counted. Computed are those of
the same ranks by the routes of hopbytes; then preset eco maps the ranks to the same nodes, by J (hop-bytes
between nodes and one per core inside) and by the busiest link.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import math
import tempfile
from pathlib import Path
from typing import Any

import hopbytes as hb
from bench import ROOT

SOURCE = (
    "[par-comm-data](https://github.com/takanori-fujiwara/par-comm-data) "
    "(T. Fujiwara and others, VAST 2017; CC BY 4.0)"
)
SAMPLES = ROOT / "tests/samples/bgq"
Row = dict[str, Any]


def measure(folder: Path, case: dict[str, str]) -> Row:
    """Return one row: counted and computed hop-bytes, those of eco, and the busiest link of all three."""
    name, ranks, nodes = case["case"], int(case["ranks"]), int(case["nodes"])
    with tempfile.NamedTemporaryFile(suffix=".edges") as file:
        file.write(lzma.decompress((folder / f"{name}.edges.xz").read_bytes()))
        file.flush()
        graph = hb.read(file.name, format="edges")
    cores = f" / core:{ranks // nodes}" if ranks > nodes else ""
    where = hb.allocate(f"coordinates:{folder / name}.hosts{cores}")
    counted = float(case["hop-bytes counted on the machine"])
    row: Row = {"case": name, "ranks": ranks, "nodes": nodes, "counted": counted}
    found = {"in_order": hb.map_tasks(graph, where, "identity")}
    for objective in ("comm_cost", "max_congestion"):
        found[objective] = hb.map_tasks(graph, where, "eco", objective=objective, seed=0, threads=1)
    for name, mapping in found.items():
        network = hb.evaluate(graph, mapping, baselines=False).links
        row[name] = {"hop_bytes": network.hop_bytes, "busiest_link": network.max_congestion}
    return row


def agrees(row: Row) -> bool:
    """Whether the computed hop-bytes are those counted, to all seven digits of these.

    Examples
    --------
    >>> agrees({"counted": 2.121315e9, "in_order": {"hop_bytes": 2121315124}})
    True
    """
    return f"{row['in_order']['hop_bytes']:.6e}" == f"{row['counted']:.6e}"


def table(rows: list[Row]) -> str:
    """Return a row for each case, and geometric means."""
    heads = (
        "recording",
        "ranks",
        "nodes",
        "hop-bytes counted by the machine",
        "computed",
        "`eco`",
        "busiest link with `eco`",
        "with `eco`, objective `max_congestion`",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    ratios: list[list[float]] = []
    for row in rows:
        start = row["in_order"]
        own = [
            row["comm_cost"]["hop_bytes"] / start["hop_bytes"],
            *(row[name]["busiest_link"] / start["busiest_link"] for name in ("comm_cost", "max_congestion")),
        ]
        ratios.append(own)
        cells = [f"{each:.3f}" for each in own]
        sums = [f"{row['counted']:.6e}", f"{start['hop_bytes']:.6e}"]
        facts = [f"`{row['case']}`", row["ranks"], row["nodes"], *sums]
        lines.append(f"| {' | '.join(map(str, [*facts, *cells]))} |")
    means = [f"{math.exp(sum(map(math.log, each)) / len(each)):.3f}" for each in zip(*ratios, strict=True)]
    same = sum(map(agrees, rows))
    lines.append(f"| geometric mean | | | | the same in {same} of {len(rows)} | {' | '.join(means)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure every case and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="the folder with cases.tsv")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = []
    with open(options.samples / "cases.tsv") as file, open(options.out, "w") as out:
        for case in csv.DictReader(file, delimiter="\t"):
            rows.append(measure(options.samples, case))
            out.write(json.dumps(rows[-1]) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
