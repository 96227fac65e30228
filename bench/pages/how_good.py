"""``bench/RESULTS.md``: how good the mappings are, for people who choose a tool; made from kept rows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from bench.lab import table
from bench.matrix import BASELINE
from bench.pages import kept
from bench.pages.kept import Row
from bench.studies import blue_gene, gap, many_threads, mpi_patterns
from bench.studies.best_known import Store
from hopbytes_laboratory.standings import compare

#: Rows that this page shows and the protocol does not.
FILES = ("one_cut", "blue_gene")
#: What partitions are compared with.
METIS = "metis:kway10"
PRESETS = ("hopbytes:fast", "hopbytes:eco", "hopbytes:strong")


def made() -> str:
    """Return the page."""
    return "\n\n".join([
        *_introduction(), *_trees(), *_cuts(), *_recordings(), *_blue_gene(), *_seconds(),
        *_losses(), *_repeat()
    ]) + "\n"  # fmt: skip


def _introduction() -> Iterable[str]:
    yield "# How good the mappings are"
    yield (
        "J is the sum over all pairs of volume × distance; J, cuts and times are better when smaller, and "
        "a ratio below 1 is a gain. Ratios are geometric means. Every answer is judged by one program "
        "(`bench/evaluate.py`), which shares no code with hopbytes and takes no number from any tool. All "
        "tables are computed by `python -m bench.page` from the rows in `bench/results`; "
        "[PROTOCOL.md](PROTOCOL.md) has all measurements, with what was asked of each."
    )


def _trees() -> Iterable[str]:
    facts, rows = kept.about()["one_thread"], kept.rows("one_thread")
    inputs = len({row["instance"] for row in rows})
    yield "## Meshes and graphs on a cluster"
    yield (
        f"{inputs} inputs (eleven meshes, road, circuit and collaboration graphs of 14,000 to 131,000 "
        "vertices, each in two orders of its vertices) are mapped to 192 cores, H 4:8:6 with distances 1, "
        f"10 and 100, at an imbalance of 3 %, on one thread. Measured {facts['measured']}; "
        f"{facts['state']}."
    )
    yield _standings(rows, BASELINE, "J over SharedMap `strong`")
    down = {
        name: sum(row["over_rounded_down"] for row in rows if row["tool"] == name)
        for name in ("hopbytes", "sharedmap")
    }
    yield (
        "*Over the bound*: answers in which a core holds more than ⌈(1 + ε)·c(V)/k⌉, the bound of the "
        "papers of KaHIP and SharedMap; Scotch aims at its ratio of imbalance and does not promise it. "
        "KaMinPar and Mt-KaHyPar make 192 blocks, which preset `fast` of hopbytes maps to the cores. "
        f"hopbytes keeps the stricter bound that is rounded down ({down['hopbytes']} answers above it); of "
        f"SharedMap's answers {down['sharedmap']} are above that, by one vertex, which its own rule allows."
    )
    yield "![Share of inputs on which J is within a factor of the least](results/one_thread_comm_cost.svg)"
    time = "Share of inputs on which CPU time is within a factor of the least"
    yield f"![{time}](results/one_thread_cpu_seconds.svg)"
    yield "![Geometric means of CPU time and J](results/one_thread_front.svg)"


def _cuts() -> Iterable[str]:
    facts, rows = kept.about()["one_cut"], kept.rows("one_cut")
    yield "## Partitions without a machine"
    yield (
        "The same inputs in 192 blocks that are all equally far apart, so that J is twice the edge cut: "
        "the problem that METIS solves. `metis:kway10` makes ten cuts and keeps the best. HeiStream reads "
        "the graph in a stream, as `--stream` of hopbytes does: in one pass, with a buffer (BuffCut), and "
        "in batches with five passes, the best of thirteen settings. Its buffers hold 131,072 vertices, "
        "that of hopbytes up to 4,194,304 pairs of clusters, which is more than these graphs have edges. "
        f"Measured {facts['measured']}; {facts['state']}."
    )
    yield _standings(rows, METIS, f"cut over `{METIS}`")


def _recordings() -> Iterable[str]:
    facts, rows = kept.about()["mpi_patterns"], kept.rows("mpi_patterns")
    cases = mpi_patterns.by_case(rows)
    yield "## Recorded MPI programs, one process per core"
    yield (
        f"{len(cases)} cases: 24 recordings of programs of 16 to 1152 ranks on machines whose levels are "
        f"powers of two and on others. Measured {facts['measured']}; {facts['state']}."
    )
    heads = (
        "preset",
        "J over that of ranks in order",
        "largest",
        "J over that of Scotch 7.0.16",
        "largest",
        "CPU s, most",
    )
    lines = []
    for preset in mpi_patterns.PRESETS:
        pairs = [mpi_patterns.ratios(tools, preset) for tools in cases]
        cells = [
            _short(value)
            for own in zip(*pairs, strict=True)
            for value in (statistics.geometric_mean(own), max(own))
        ]
        seconds = max(tools[preset]["cpu_seconds"] for tools in cases)
        lines.append((f"`{preset}`", *cells, f"{seconds:.2f}"))
    yield _table(heads, lines)
    yield "![Share of cases on which J is within a factor of the least](results/mpi_patterns_comm_cost.svg)"


def _blue_gene() -> Iterable[str]:
    facts, rows = kept.about()["blue_gene"], kept.rows("blue_gene")
    yield "## Hops that a machine counted"
    yield (
        f"The data set {blue_gene.SOURCE} was recorded on the Blue Gene/Q *Vesta* together with the hops "
        "that its routes took. hopbytes computes the same hop-bytes from the bytes, the places of the "
        "nodes and its own routes. The last three columns are over those of the recorded order: hop-bytes "
        "of preset `eco`, and the busiest link, which the recordings do not have and which is computed "
        "for both."
    )
    yield blue_gene.table(rows)
    yield f"Measured {facts['measured']}; {facts['state']}."


def _seconds() -> Iterable[str]:
    facts, found = kept.about()["seconds"], table.results(kept.rows("seconds"))
    yield "## Measured seconds"
    yield (
        "Real MPI programs of 32 ranks between hosts that are name spaces of one computer, over links of 2.4 "
        "MB/s whose bandwidths, latencies and routes were checked (`python -m bench.lab`). Waiting ranks "
        f"sleep, so the links decide the time. Measured {facts['measured']}; {facts['state']}. "
        f"{table.summary(found)} Programs in which ranks wait for each other in chains (`sweep`) can take "
        "longer on a mapping with lower J. *trace*, *waiting* and *posted* are replays of a recorded trace: "
        "by SimGrid, and by hopbytes with data that travel at once or when their receive is posted. By the "
        "larger ratio of the last two, the *verdict*, `hopbytes map` decides. *flows* and *replay* are those "
        "of the pattern."
    )
    yield f"{table.recommendations(found)[0]} [Every case](PROTOCOL.md#seconds)."
    yield "![Measured and predicted ratios of time](results/seconds.svg)"
    yield "\n".join(table.trust(found))


def _losses() -> Iterable[str]:
    yield "## Where hopbytes loses"
    yield "\n".join(f"- {each}" for each in (*_lost_inputs(), *_lost_elsewhere()))


def _lost_inputs() -> Iterable[str]:
    for file, rivals, what in (
        ("one_thread", "another tool", "J"), ("one_cut", "METIS or Scotch", "the cut"),
    ):  # fmt: skip
        rows = kept.rows(file)
        least: dict[str, tuple[int, str]] = {}
        for row in rows:
            if row["tool"] != "hopbytes" and not row["error"] and not row["over_bound"]:
                found = (row["comm_cost"], f"{row['tool']}:{row['preset']}")
                least[row["instance"]] = min(found, least.get(row["instance"], found))
        parts = []
        for preset in PRESETS:
            own = {
                row["instance"]: row["comm_cost"]
                for row in rows
                if f"{row['tool']}:{row['preset']}" == preset
            }
            if not own:
                continue
            behind = {name: cost / least[name][0] for name, cost in own.items() if cost > least[name][0]}
            text = f"`{preset.partition(':')[2]}` on {len(behind)} of {len(own)}"
            if behind:
                worst = max(behind, key=lambda name: behind[name])
                text += f" (at most {100 * behind[worst] - 100:.1f} %, {worst}, `{least[worst][1]}`)"
            parts.append(text)
        yield f"Inputs on which {what} of {rivals} is lower: {'; '.join(parts)}."


def _lost_elsewhere() -> Iterable[str]:
    overall = compare(kept.rows("one_cut"), METIS).overall
    cuts = {each.contender: each.ratios["cpu_seconds"] or 0 for each in overall}
    fast, stream = (cuts[f"hopbytes:{name}"] for name in ("fast", "stream"))
    yield (
        f"CPU time of a partition, whole processes: `fast` takes {fast / cuts['metis:kway']:.1f} times "
        f"that of `metis:kway`, `--stream` {stream / cuts['heistream:one_pass']:.1f} times that of "
        "HeiStream's one pass."
    )
    cases = mpi_patterns.by_case(kept.rows("mpi_patterns"))
    pairs = [(mpi_patterns.ratios(tools, "eco")[1], tools["eco"]["recording"]) for tools in cases]
    behind = [(ratio, name) for ratio, name in pairs if ratio > 1]
    worst = max(pairs)
    yield (
        f"Recordings: Scotch's J is lower than that of `eco` on {len(behind)} of {len(pairs)} cases, at "
        f"most by {100 - 100 / worst[0]:.1f} % (`{worst[1]}`)."
    )
    gaps = gap.gaps(kept.rows("known"), Store().rows())
    means = ", ".join(
        f"`{name.partition(':')[2]}` {statistics.fmean(gaps[name].values()):.1f} %" for name in PRESETS
    )
    yield f"Mean gap to the best mappings that anybody here has found (half an hour of `best` each): {means}."
    links = [
        (row["comm_cost"]["busiest_link"] / row["in_order"]["busiest_link"], row["case"])
        for row in kept.rows("blue_gene")
    ]
    worst_link = max(links)
    if worst_link[0] > 1:
        yield (
            f"Lower hop-bytes can load one link more: on `{worst_link[1]}` `eco` loads the busiest link "
            f"{worst_link[0]:.2f} times as much as the recorded order unless `--objective max_congestion` "
            "is asked for."
        )
    curves = many_threads.speed_ups(kept.rows("many_threads"))
    speeds = [
        speed
        for name, curve in curves.items()
        if name.endswith(" fast")
        for count, speed in curve
        if count == 16
    ]
    yield (
        f"Sixteen threads: `fast` is {min(speeds):.1f} to {max(speeds):.1f} times as fast as with one "
        "([which graphs, and how rivals scale](PROTOCOL.md#many-threads))."
    )
    yield "A lower J is no shorter time for a program that does not wait for messages."


def _repeat() -> Iterable[str]:
    own = [row["cpu_seconds"] for row in kept.rows("one_thread") if row["tool"] in ("hopbytes", "sharedmap")]
    yield "## How to repeat it"
    yield "\n".join([
        "```", "pip install '.[bench]'",
        "python -m bench.run --suite foundation --fetch --hierarchy 4:8:6 --seeds 1 --threads 1 \\",
        "    --tools hopbytes,sharedmap --out one_thread.jsonl && python -m bench.matrix one_thread.jsonl",
        "```",
    ])  # fmt: skip
    yield (
        "`--fetch` loads the graphs that are missing from where they are published, names each with its "
        "source and checksum, and says how many are left out; three of the eleven graphs are generated, two "
        "are meshes that need `pip install gmsh==4.15.2`. The runs took "
        f"{sum(own) / 60:.0f} CPU minutes, most of them SharedMap's. The commands of the other tables:"
    )
    commands = [
        command
        for name in ("one_thread", *FILES, "mpi_patterns", "seconds")
        for command in kept.about()[name]["commands"]
    ]
    yield "```\n" + "\n".join(commands) + "\n```"


def _standings(rows: list[Row], baseline: str, measure: str) -> str:
    """Return a table of all tools over a baseline, the best first."""
    lines = []
    for each in sorted(compare(rows, baseline).overall, key=lambda each: each.ratios["comm_cost"] or 0):
        won = "" if each.contender == baseline else f"{each.wins}-{each.losses}"
        cost, time = (_short(each.ratios[name]) for name in ("comm_cost", "cpu_seconds"))
        lines.append((f"`{each.contender}`", cost, time, won, f"{each.over_bound} of {each.runs}"))
    return _table(("tool", measure, "CPU time over it", "inputs won-lost", "over the bound"), lines)


def _table(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    heads = tuple(heads)
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
