"""The sections of the page that are made from kept rows, one function per file of rows."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.lab import papers as lab_papers
from bench.lab import table as lab_table
from bench.matrix import HEAD, line
from bench.pages import profiles
from bench.pages.curves import Front, Points, SpeedUps
from bench.pages.kept import Row
from bench.pages.numbers import BASELINE
from bench.papers import qaplib
from bench.studies import (
    balance,
    deep,
    distributed,
    families,
    flat_cuts,
    gap,
    growth,
    mpi_patterns,
    network_cases,
    startup,
    training_grids,
)
from bench.studies import (
    many_threads as with_threads,
)
from bench.studies.best_known import Store
from hopbytes_laboratory.standings import compare

#: A table in Markdown, speed-ups, pairs of ratios, a front, or the name of a picture, its title, the values
#: in it and the factor it ends at.
Picture = tuple[str, str, profiles.Values, float]
Piece = str | SpeedUps | Points | Front | Picture


def foundation(rows: list[Row]) -> Iterator[Piece]:
    """Presets beside SharedMap, two threads."""
    yield from beside_rivals(rows, "foundation")


def one_thread(rows: list[Row]) -> Iterator[Piece]:
    """Presets beside rivals, one thread."""
    yield from beside_rivals(rows, "one_thread")
    yield time_and_quality(rows, "one_thread_front", "Graphs of 14,000 to 131,000 vertices")


def large(rows: list[Row]) -> Iterator[Piece]:
    """Presets beside rivals on graphs of a million vertices, one thread."""
    baseline = "sharedmap:fast"
    yield f"Every tool and preset against `{baseline}`, geometric means of ratios:"
    yield "\n".join([HEAD, *(line("all", standing) for standing in compare(rows, baseline).overall)])
    yield time_and_quality(rows, "large_front", "Graphs of a million vertices", baseline)


def beside_metis(rows: list[Row]) -> Iterator[Piece]:
    """Equal blocks without a machine, beside METIS."""
    yield "\n".join(flat_cuts.table(rows))


def time_and_quality(rows: list[Row], file: str, title: str, baseline: str = BASELINE) -> Front:
    """CPU time against J of every tool and preset that answered on all inputs."""
    spots: dict[str, list[tuple[float, float, str]]] = {}
    inputs = len({row["instance"] for row in rows})
    for standing in compare(rows, baseline).overall:
        tool, _, preset = standing.contender.partition(":")
        time, cost = standing.ratios["cpu_seconds"], standing.ratios["comm_cost"]
        if time is not None and cost is not None and standing.instances == inputs:
            spots.setdefault(tool, []).append((time, cost, preset))
    return Front(file, title, baseline, spots)


def beside_rivals(rows: list[Row], name: str) -> Iterator[Piece]:
    """Ratios to the baseline by group, and performance profiles in pictures whose files begin with `name`."""
    yield f"Every tool and preset against `{BASELINE}`, geometric means of ratios:"
    lines = [HEAD]
    groups: dict[str, Callable[[Row], bool]] = {
        "all": lambda row: True,
        "own order": lambda row: ".shuffled" not in row["instance"],
        "renumbered": lambda row: ".shuffled" in row["instance"],
    }
    for family in sorted({row["family"] for row in rows}):
        groups[family] = lambda row, family=family: row["family"] == family
    for group, belongs in groups.items():
        for standing in compare([row for row in rows if belongs(row)], BASELINE).overall:
            if group == "all" or (standing.contender.startswith("hopbytes")):
                lines.append(line(group, standing))
    yield "\n".join(lines)
    for measure, title, most in (("comm_cost", "J", 1.5), ("cpu_seconds", "CPU time", 100.0)):
        values: dict[str, dict[str, float]] = {}
        for row in rows:
            if not row["error"] and row[measure] is not None:
                values.setdefault(row["instance"], {})[f"{row['tool']}:{row['preset']}"] = row[measure]
        values = {instance: dict(sorted(each.items())) for instance, each in values.items()}
        yield f"Share of the {len(values)} inputs on which {title} is within a factor of the least:"
        yield profiles.table(values, (1.01, 1.05, 1.1, 1.5, 2.0) if most < 10 else (1.5, 2.0, 5.0, 20.0))
        yield f"{name}_{measure}", f"{title}: share of {len(values)} inputs", values, most


def threads(rows: list[Row]) -> Iterator[Piece]:
    """Presets on one and on two threads, and what their work and span allow with more."""
    yield with_threads.table(rows)
    yield with_threads.work_table(rows)
    yield (
        "With P threads a run takes at most (work - span) / P + span (Brent's bound), counted in scanned "
        "edges and without what threads cost; the picture shows the speed-up that follows:"
    )
    title = "Speed-up that work and span allow, by threads"
    yield SpeedUps("threads_speed_up", title, with_threads.possible_speed_ups(rows))


def slot_threads(rows: list[Row]) -> Iterator[Piece]:
    """Presets with one task per slot on one and on two threads."""
    yield with_threads.table(rows)
    yield with_threads.work_table(rows)


def many_threads(rows: list[Row]) -> Iterator[Piece]:
    """Presets and rivals with more and more threads."""
    yield with_threads.table(rows)
    yield with_threads.work_table(rows)
    yield SpeedUps("many_threads_speed_up", "Measured speed-up, by threads", with_threads.speed_ups(rows))


def turbo_threads(rows: list[Row]) -> Iterator[Piece]:
    """The fast presets on one and on sixteen threads."""
    yield with_threads.table(rows)


def mapped_on_gpu(rows: list[Row]) -> Iterator[Piece]:
    """Mappings on a GPU beside `turbo` on the CPU of the same machine."""
    lines = [
        "| graph | vertices, arcs | `turbo`, CPU | with transfer | on the GPU | J over `turbo` | bytes an "
        "arc | kernels |", "|---" * 8 + "|",
    ]  # fmt: skip
    for row in rows:
        walls = (f"{sum(row[key]) / len(row[key]):.3f} s" for key in ("turbo", "with transfer", "on device"))
        kernels = sum(kernel["seconds"] for kernel in row["kernels"].values())
        ratios = ", ".join(f"{ratio:.3f}" for ratio in row["J over turbo"])
        cells = [
            row["graph"], f"{row['n']:,}, {row['arcs']:,}", *walls, f"{row['geometric mean']:.3f} ({ratios})",
            str(row["bytes an arc"]), f"{kernels:.3f} s",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    yield "\n".join(lines)
    lines = ["| kernel | launches | seconds | GB/s of its arrays, at most |", "|---" * 4 + "|"]
    for name, kernel in list(rows[-1]["kernels"].items())[:10]:
        lines.append(f"| `{name}` | {kernel['launches']} | {kernel['seconds']} | {kernel['GB/s']:,} |")
    yield f"The kernels that take longest on {rows[-1]['graph']}:\n\n" + "\n".join(lines)


def known(rows: list[Row]) -> Iterator[Piece]:
    """Gap to the best mappings known."""
    found = gap.gaps(rows, Store().rows())
    yield gap.table(found)
    yield gap.every(found)
    yield "The best mappings known (`python -m bench.studies.best_known --check` judges them):"
    lines = ["| instance | H | J | found by | attempts |", "|---|---|---|---|---|"]
    for row in Store().rows().values():
        cells = (row["instance"], row["hierarchy"], row["comm_cost"], f"`{row['found_by']}`")
        lines.append(f"| {' | '.join(map(str, cells))} | {len(row['attempts'])} |")
    yield "\n".join(lines)


def recordings(rows: list[Row]) -> Iterator[Piece]:
    """One task per PE: recordings of MPI programs."""
    heads = ("machines", "preset", "cases", "J / in order (largest)", "J / Scotch (largest)", "CPU s, most")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for kind in dict.fromkeys(row["machines"] for row in rows):
        cases = mpi_patterns.by_case([row for row in rows if row["machines"] == kind])
        for preset in mpi_patterns.PRESETS:
            found = np.array([mpi_patterns.ratios(tools, preset) for tools in cases])
            mean, most = np.exp(np.log(found).mean(axis=0)), found.max(axis=0)
            seconds = max(tools[preset]["cpu_seconds"] for tools in cases)
            lines.append(
                f"| {kind} | `{preset}` | {len(cases)} | {mean[0]:.3f} ({most[0]:.3f}) "
                f"| {mean[1]:.3f} ({most[1]:.3f}) | {seconds:.2f} |"
            )
    yield "\n".join(lines)
    values: dict[str, dict[str, float]] = {}
    for tools in mpi_patterns.by_case(rows):
        first = tools[mpi_patterns.PRESETS[0]]
        own = {preset: float(tools[preset]["comm_cost"]) for preset in mpi_patterns.PRESETS}
        if rival := mpi_patterns.balanced(tools):
            own["scotch"] = float(rival["comm_cost"])
        values[f"{first['machines']} {first['recording']}"] = own | {"in order": float(first["in_order"])}
    yield f"Share of the {len(values)} cases on which J is within a factor of the least:"
    yield profiles.table(values, (1.01, 1.02, 1.05, 1.1, 1.5))
    yield "mpi_patterns_comm_cost", f"J of recordings: share of {len(values)} cases", values, 1.5


def growing(rows: list[Row]) -> Iterator[Piece]:
    """Time per edge and memory."""
    ordered = sorted(rows, key=lambda row: (row["preset"], row["family"], row["n"]))
    yield printed(growth.report, ordered)
    yield "- " + printed(growth.report_growth, ordered).replace("\n", "\n- ")


def deepened(rows: list[Row]) -> Iterator[Piece]:
    """Presets beside KaHIP's global multisection, whose J was measured once."""
    yield "J over that of KaHIP's global multisection (preset eco, 12 to 18 s; its J stands in the script):"
    yield printed(deep.report, rows)


def over_ranks(rows: list[Row]) -> Iterator[Piece]:
    """Distributed mapping beside presets on one process."""
    yield "`auto` is `map --distributed` on that many ranks; seconds are wall time of reading and mapping:"
    yield printed(distributed.show, rows)


def balanced(rows: list[Row]) -> Iterator[Piece]:
    """Unit loads: runs over the exact bound."""
    yield f"Drawn from seed {rows[0]['seed']}:"
    yield printed(balance.report, rows)


def quadratic(rows: list[Row]) -> Iterator[Piece]:
    """Gap to the best known costs."""
    yield "```\n" + "\n".join(qaplib.table(rows)) + "\n```"


def generated(rows: list[Row]) -> Iterator[Piece]:
    """Generated families."""
    table, _, rest = printed(families.table, rows).partition("\n\n")
    yield "Ratios of J where both keep the bound, rounded up as in papers, with the number of cases:"
    yield table
    yield "```\n" + rest + "\n```"


def networked(rows: list[Row]) -> Iterator[Piece]:
    """Sixty networks."""
    yield "Over tasks in order with equally many on every node; `best on` counts ties, too:"
    for objective, symbol in network_cases.OBJECTIVES.items():
        yield "```\n" + network_cases.table(rows, objective) + "\n```"
        values = network_cases.of_objective(rows, objective)
        title = f"{symbol} asked for: share of {len(values)} cases"
        yield f"network_cases_{objective}", title, values, 3.0


def starting(rows: list[Row]) -> Iterator[Piece]:
    """Small commands as whole processes."""
    yield startup.table(rows)


def trained(rows: list[Row]) -> Iterator[Piece]:
    """Grids of parallelism on four machines with GPUs."""
    yield (
        "Every cell has the natural order, the best of the six published rank orders, and the usual answer "
        "of preset `eco` (congestion and time: the changes by the last two, relative to the natural order; "
        "the second time is that of flows that share links, SimGrid's model). Shares are those of all bytes "
        "of a step: between NVLink domains or hosts; of these on one rail; of these through spine switches; "
        "then of the bytes of tensor groups inside domains, and of data rings inside domains or on one rail. "
        "With holes: a random four fifths of the hosts of a machine."
    )
    yield training_grids.table(rows)
    yield training_grids.summary(rows)


def measured(rows: list[Row]) -> Iterator[Piece]:
    """Measured seconds of programs on fabrics in the laboratory."""
    found = lab_table.results(rows)
    yield lab_table.summary(found)
    yield "\n".join(lab_table.recommendations(found))
    yield "Slower mappings (J, bytes between hosts and seconds by grade over those in the launcher's order):"
    yield "\n".join(f"- {line}" for line in lab_table.regressions(found)) or "- none"
    yield (
        "In the table *J ratio*, *bytes ratio*, *flows ratio* and *trace ratio* are over the launcher's own "
        "order, too; orders in one line have the same mapping; ratios in bold print are above 1 beyond noise."
    )
    yield "\n".join(lab_table.table(found))
    pairs = {
        grade: [
            (each.predicted_ratio[grade], each.ratio)
            for each in lab_table.compared(found)
            if grade in each.predicted_ratio
        ]
        for grade in ("flows", "verdict")
    }
    yield Points("seconds", f"{len(pairs['flows'])} orders of ranks, measured and predicted", pairs)


def small_papers(rows: list[Row]) -> Iterator[Piece]:
    """Table I of paper 003 and figure 7 of paper 004, measured at the size of the laboratory."""
    found = lab_table.results(rows)
    yield lab_table.summary(found)
    yield (
        "Geometric means over four matrices of times over those of parts in order, then changes of the time "
        "over ranks in order; *flows* is what is predicted of the same runs. What is predicted of the 4096 "
        "processes of the papers is in [STUDIES.md](STUDIES.md#figures-of-two-papers-in-simulated-time)."
    )
    yield "\n".join(lab_papers.tables(found))


def by_name(rows: list[Row]) -> Iterator[Piece]:
    """Programs that call METIS, Scotch or PT-Scotch."""
    yield (
        "Columns node to core: edges between blocks that are apart at this level of the machine with "
        "hopbytes, over those with the original. Then the largest block over its share and the processor "
        "seconds of the call, the original's in brackets. Of OpenFOAM one run with a rank per block, where "
        "PT-Scotch's processes wait for each other actively."
    )
    levels = ("node", "socket", "domain", "core")
    heads = ["program", "call", "vertices", "blocks", "machine", *levels]
    heads += ["largest block", "seconds", "of the original"]
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        ours, theirs = row["hopbytes"], row["original"]
        lines.append([
            row["program"], f"`{row['function']}`", f"{row['n']:,}", str(row["k"]), row["machine"],
            *(f"{ours[level] / theirs[level]:.2f}" for level in levels),
            *(f"{ours[key]:.3f} ({theirs[key]:.3f})" for key in ("largest", "seconds")),
            f"{ours['seconds'] / theirs['seconds']:.2f}",
        ])  # fmt: skip
    yield "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


SECTIONS: dict[str, Callable[[list[Row]], Iterator[Piece]]] = {
    "foundation": foundation, "one_thread": one_thread, "large": large, "flat_cuts": beside_metis,
    "threads": threads, "slot_threads": slot_threads, "many_threads": many_threads,
    "known": known, "growth": growing,
    "deep": deepened, "balance": balanced, "families": generated, "mpi_patterns": recordings,
    "qaplib": quadratic, "startup": starting, "network_cases": networked, "training_grids": trained,
    "distributed": over_ranks, "seconds": measured, "small_papers": small_papers,
    "by_name": by_name, "device": mapped_on_gpu, "turbo_threads": turbo_threads,
}  # fmt: skip


def printed(function: Callable[..., None], *arguments: Any) -> str:
    """Return what a function prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        function(*arguments)
    return text.getvalue().rstrip("\n")
