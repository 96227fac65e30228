"""Benchmark runs beside a baseline: rows, geometric means, wins, failures, violated bounds, text tables.

Rows are what ``bench/run.py`` writes, one JSON object per line. Comparisons are pure functions of the rows.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError, printable, unknown_name
from hopbytes.text.columns import table_lines
from hopbytes.text.open_input import open_stream

Row = Dictionary[str, Any]

#: Names of the numbers of a row that are averaged.
MEASURES = ("comm_cost", "wall_seconds", "inner_seconds", "cpu_seconds")

#: Length of a row that is refused, so that a file without line ends does not fill the memory.
MAX_LINE = 2**20


def read_results(path: str | Path) -> list[dict[str, Any]]:
    """Read the rows of a results file, which may be compressed with gzip, xz or bzip2."""
    rows = []
    with open_stream(path) as (_, stream, _):
        for number, read in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), start=1):
            if len(read) == MAX_LINE:
                what = f"a line of {MAX_LINE} bytes or more, expected a row of bench/run.py"
                raise FormatError(str(path), number, what)
            line = read.decode("utf-8", "replace")
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                what = "not JSON, expected lines of bench/run.py, one object each"
                raise FormatError(str(path), number, what) from None
            _check(row, str(path), number)
            rows.append(row)
    if not rows:
        raise FormatError(str(path), None, "no rows, expected one JSON object per line")
    return rows


def _check(row: Any, where: str, line: int) -> None:
    if not isinstance(row, dict):
        raise FormatError(where, line, f"a JSON {type(row).__name__}, expected an object")
    for name in ("instance", "tool", "preset", "seed"):
        if not isinstance(row.get(name), (str, int)):
            raise FormatError(where, line, f"no {name!r}, expected a row of bench/run.py")
    for name in (*MEASURES, "other_cpu_seconds"):
        value = row.get(name)
        if value is not None and not _is_measure(value):
            raise FormatError(where, line, f"{name} is {str(value)[:40]}, expected a number >= 0")
    if not row.get("error") and row.get("comm_cost") is None:
        raise FormatError(where, line, "neither comm_cost nor error, expected one of them")


def _is_measure(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:  # an integer beyond any float
        return False


#: Runs of one tool with these in common (and different seeds) are averaged into one number.
SETTING = ("instance", "input_hash", "hierarchy", "distance", "problem", "imbalance", "threads")
DEFAULT_BASELINE = "sharedmap"
#: A run during which the rest of the machine used more than this share of a core is called disturbed.
DISTURBED = 0.1


@frozen
class Standing:
    """The results of one contender relative to its baseline over a group of instances."""

    contender: str  # ``tool:preset``
    baseline: str
    scope: str  # ``all``, a family, or one instance
    instances: int  # instances on which both have at least one good run; only these enter means and wins
    #: runs of the contender, and how many of them failed, exceeded the load bound, or shared the machine
    runs: int
    failures: int
    over_bound: int
    disturbed: int
    wins: int  # instances on which the contender's mean J is lower, equal, higher
    ties: int
    losses: int
    #: geometric mean over seeds and then instances of ``comm_cost``, ``wall_seconds``, ``inner_seconds`` and
    #: ``cpu_seconds``; None if a good run of the group lacks the number
    means: dict[str, float | None]
    #: geometric mean over instances of ours divided by the baseline's; below 1 is better
    ratios: dict[str, float | None]


@frozen
class Comparison:
    """All standings of a results file."""

    #: one per contender; one per family and contender; one per instance and contender
    overall: tuple[Standing, ...]
    families: tuple[Standing, ...]
    instances: tuple[Standing, ...]
    notes: tuple[str, ...]  # reasons why numbers of this file are less comparable than they seem

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and dictionaries, for ``--json``."""
        return asdict(self)


def compare(rows: Iterable[Row], baseline: str = DEFAULT_BASELINE) -> Comparison:
    """Compare every contender with a baseline.

    >>> def row(tool, seed, cost):
    ...     return {"instance": "mesh", "tool": tool, "preset": "eco", "seed": seed, "comm_cost": cost}
    >>> result = compare([row("ours", 1, 50), row("ours", 2, 200), row("theirs", 1, 200)], "theirs")
    >>> [(s.contender, round(s.ratios["comm_cost"], 3)) for s in result.overall]
    [('theirs:eco', 1.0), ('ours:eco', 0.5)]
    """
    latest = list({_identity(row): row for row in rows}.values())
    runs: dict[str, dict[tuple[Any, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in latest:
        runs[contender_of(row)][_setting(row)].append(row)
    known = {name for contender in runs for name in (contender, contender.partition(":")[0])}
    if baseline not in known:
        if runs and baseline == DEFAULT_BASELINE:
            raise UnsupportedError(
                f"no run of {baseline}, with which others are compared by default; expected for example "
                f"--baseline {next(iter(runs))} (known: {', '.join(sorted(known))})"
            )
        raise unknown_name("baseline", baseline, known)
    _check_baseline(baseline, latest)
    pairs = [(name, _opponent(name, baseline)) for name in runs if _opponent(name, baseline) in runs]
    pairs.sort(key=lambda pair: (pair[1], pair[0] != pair[1], pair[0]))

    families = _families(latest)
    labels = _labels(latest)
    overall, by_family, by_instance = [], [], []
    for name, opponent in pairs:
        overall.append(_standing(name, opponent, "all", runs, set(families)))
    for family in dict.fromkeys(families.values()):
        group = {setting for setting, label in families.items() if label == family}
        by_family += [_standing(name, opponent, family, runs, group) for name, opponent in pairs]
    for setting, label in labels.items():
        by_instance += [_standing(name, opponent, label, runs, {setting}) for name, opponent in pairs]
    present = [standing for standing in by_family if standing.runs]
    notes = [*_missing(baseline, runs, overall), *_notes(latest)]
    return Comparison(tuple(overall), tuple(present), tuple(s for s in by_instance if s.runs), tuple(notes))


def contender_of(row: Row) -> str:
    """Return the name of the contender of a row, ``tool:preset``."""
    return f"{row['tool']}:{row['preset']}"


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; 0 if any value is 0.

    Raises ValueError for no values.
    """
    if not values:
        raise ValueError("the mean of nothing")
    if min(values) == 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _check_baseline(baseline: str, rows: Iterable[Row]) -> None:
    """Refuse a baseline without a good run: every ratio to it would be empty."""
    own = [row for row in rows if baseline in (contender_of(row), str(row["tool"]))]
    if not _good(own):
        first = " ".join(str(own[0]["error"]).split())[:100]
        what = f"none of its {len(own)} runs succeeded (first error: {first}), expected another baseline"
        raise UnsupportedError(f"baseline {baseline!r}: {what}")


def _missing(baseline: str, runs: Dictionary[str, Any], overall: Iterable[Standing]) -> list[str]:
    """Return a note for each contender that nothing could be compared with."""
    absent = [name for name in runs if _opponent(name, baseline) not in runs]
    notes = [f"there is no run of {_opponent(name, baseline)}, with which {name} compares" for name in absent]
    empty = (standing for standing in overall if not standing.instances)
    return notes + [
        f"{each.contender} and {each.baseline} have no instance on which a run of both succeeded"
        for each in empty
    ]


def _setting(row: Row) -> tuple[Any, ...]:
    return tuple(None if row.get(name) is None else str(row[name]) for name in SETTING)


def _identity(row: Row) -> tuple[Any, ...]:
    return (contender_of(row), row["seed"], *_setting(row))


def _opponent(contender: str, baseline: str) -> str:
    return baseline if ":" in baseline else f"{baseline}:{contender.partition(':')[2]}"


def _families(rows: Iterable[Row]) -> dict[tuple[Any, ...], str]:
    return {_setting(row): str(row.get("family", "unknown")) for row in rows}


def _labels(rows: Iterable[Row]) -> dict[tuple[Any, ...], str]:
    """Return the names of instances, with machine, bound and threads if an instance ran under several."""
    settings = dict.fromkeys(map(_setting, rows))
    names = [str(setting[0]) for setting in settings]
    labels = {}
    for setting in settings:
        name = str(setting[0])
        extra = " ".join(str(part) for part in setting[2:] if part is not None)
        labels[setting] = name if names.count(name) == 1 else f"{name} ({extra})"
    return labels


def _standing(
    name: str,
    opponent: str,
    scope: str,
    runs: Dictionary[str, Dictionary[tuple[Any, ...], list[Row]]],
    group: set[tuple[Any, ...]],
) -> Standing:
    own = {setting: rows for setting, rows in runs[name].items() if setting in group}
    all_runs = [row for rows in own.values() for row in rows]
    good = {setting: _good(rows) for setting, rows in own.items()}
    theirs = {setting: _good(runs[opponent].get(setting, [])) for setting in own}
    shared = [setting for setting in own if good[setting] and theirs[setting]]
    costs = [(_mean(good[s], "comm_cost"), _mean(theirs[s], "comm_cost")) for s in shared]
    means, ratios = {}, {}
    for measure in MEASURES:
        ours = [_mean(good[s], measure) for s in shared]
        base = [_mean(theirs[s], measure) for s in shared]
        means[measure] = _mean_of_all(ours)
        ratios[measure] = _mean_of_all([_ratio(a, b) for a, b in zip(ours, base, strict=True)])
    return Standing(
        name, opponent, scope, len(shared), len(all_runs),
        sum(bool(row.get("error")) for row in all_runs),
        sum(bool(row.get("over_bound")) for row in all_runs),
        sum(map(_disturbed, all_runs)),
        sum(_sign(a, b) < 0 for a, b in costs),
        sum(_sign(a, b) == 0 for a, b in costs),
        sum(_sign(a, b) > 0 for a, b in costs),
        means, ratios,
    )


def _good(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.get("error")]


def _mean(rows: Sequence[Row], measure: str) -> float | None:
    return _mean_of_all([row.get(measure) for row in rows])


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return the geometric mean; None if a value is missing, because a mean of the rest would be biased."""
    numbers = [value for value in values if value is not None]
    return geometric_mean(numbers) if numbers and len(numbers) == len(values) else None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    if ours is None or theirs is None:
        return None
    if theirs == 0:
        return 1.0 if ours == 0 else None
    return ours / theirs


def _sign(ours: float | None, theirs: float | None) -> int:
    """Compare two means; those of equal integers may differ in the last bits."""
    if ours is None or theirs is None or math.isclose(ours, theirs, rel_tol=1e-12):
        return 0
    return -1 if ours < theirs else 1


def _disturbed(row: Row) -> bool:
    wall, other = row.get("wall_seconds"), row.get("other_cpu_seconds")
    return bool(wall and other is not None and other > DISTURBED * wall)


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    machines = {json.dumps(row.get("machine"), sort_keys=True, default=str) for row in rows}
    if len(machines) > 1:
        notes.append(f"rows come from {len(machines)} machines: times are not comparable")
    disturbed = sum(map(_disturbed, rows))
    if disturbed:
        notes.append(f"{disturbed} of {len(rows)} runs shared the machine: their times are not reliable")
    versions: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        versions[str(row["tool"])].add(json.dumps(row.get("versions"), sort_keys=True, default=str))
    for tool, kinds in sorted(versions.items()):
        if len(kinds) > 1:
            notes.append(f"rows of {len(kinds)} versions of {tool} are mixed")
    return notes


#: Column heads of the ratios, by measure.
RATIO_HEADS = {"comm_cost": "J", "wall_seconds": "wall", "inner_seconds": "map", "cpu_seconds": "CPU"}


def describe(comparison: Comparison) -> str:
    """Return a comparison as tables: all instances, families, single instances, notes.

    The columns J, wall (whole process), map (mapping alone) and CPU are ratios to the baseline,
    geometric means; below 1 is better. `mean J` and `mean s` are the contender's own geometric means.

    >>> rows = [{"instance": "mesh", "tool": "ours", "preset": "eco", "seed": 1, "comm_cost": 5}]
    >>> "ours:eco" in describe(compare(rows, "ours"))
    True
    """
    tables = [_table("all instances", comparison.overall, group=None)]
    if len({standing.scope for standing in comparison.families}) > 1:
        tables.append(_table("by family", _without_baselines(comparison.families), group="family"))
    tables.append(_table("by instance", _without_baselines(comparison.instances), group="instance"))
    notes = [f"note: {note}" for note in comparison.notes]
    # Lines are as wide as they need to be: a terminal may wrap them, but numbers are never cut.
    return printable("\n\n".join("\n".join(lines) for lines in (*tables, notes) if lines), "\n")


def _without_baselines(standings: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in standings if standing.contender != standing.baseline]


def _table(title: str, standings: Sequence[Standing], group: str | None) -> list[str]:
    """Return the lines of a table under its title, none if it has no rows."""
    if not standings:
        return []
    heads = ["contender", "against", *RATIO_HEADS.values(), "mean J", "mean s", "won-tied-lost", "runs"]
    rows = [[*([group] if group else []), *heads, "failed", "over bound"]]
    rows += [[*([standing.scope] if group else []), *_cells(standing)] for standing in standings]
    return [title, *(f"  {line}" for line in table_lines(rows, "<<<>" if group else "<<>"))]


def _cells(standing: Standing) -> list[str]:
    return [
        standing.contender,
        "-" if standing.contender == standing.baseline else standing.baseline,
        *(_number(standing.ratios[measure], ".3f") for measure in RATIO_HEADS),
        _number(standing.means["comm_cost"], ".0f"),
        _number(standing.means["wall_seconds"], ".2f"),
        f"{standing.wins}-{standing.ties}-{standing.losses}",
        str(standing.runs), str(standing.failures), str(standing.over_bound),
    ]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def profile_values(
    standings: Iterable[Standing], measure: str = "comm_cost"
) -> dict[str, dict[str, float | None]]:
    """Return the means of every contender by input, as :func:`hopbytes.plot.profile` takes them."""
    values: dict[str, dict[str, float | None]] = {}
    for one in standings:
        values.setdefault(one.contender, {})[one.scope] = one.means.get(measure)
    return values
