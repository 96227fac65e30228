"""An advice in words: a table, the recommendation, what to type, and how to undo it."""

from __future__ import annotations

import shlex
from typing import Any

from hopbytes.patterns.ml import MEGATRON_OPTIONS
from hopbytes.report.advice import Advice, Candidate
from hopbytes.report.predicted_time import GRADES, LIMITS
from hopbytes.util.quantities import duration, short_amount

#: How launchers are told an order.
TYPED = {
    "fill": "mpirun -n {n} ./app (Slurm: srun -n {n} --distribution=block:block ./app)",
    "block": "srun -n {n} --distribution=block ./app",
    "cyclic": "srun -n {n} --distribution=cyclic ./app (Open MPI: mpirun -n {n} --map-by node ./app)",
}
UNDO = "Nothing is installed or changed: start the program as before, without these options and files."
#: Links that are named for the launcher's order and for the recommendation.
LINKS = 3


def to_type(advice: Advice, pattern: str, machine: str) -> list[str]:
    """Return the commands of the recommendation; none where everything stays as it is."""
    found = advice.recommended
    if found is None or found is advice.usual:
        return []
    if found.kind == "order":
        if found.choice in MEGATRON_OPTIONS:
            return [f"Megatron-LM: {MEGATRON_OPTIONS[found.choice]}", *_by_mesh(pattern, machine, "")]
        return [TYPED[found.choice].format(n=found.mapping.n)]
    method = f"--preset {found.choice}" + (f" --seed {found.seed}" if found.seed else "")
    file, spec = shlex.quote(pattern), shlex.quote(machine)
    if advice.training:
        return _by_mesh(pattern, machine, f" {method}")
    return [
        f"hopbytes map {file} --on {spec} {method} -o placed.json",
        f"hopbytes run --pattern {file} {method} -- mpirun -n {found.mapping.n} ./app",
    ]


def _by_mesh(pattern: str, machine: str, method: str) -> list[str]:
    """Return the commands that start a program of torch.distributed on a mapping."""
    file, spec = shlex.quote(pattern), shlex.quote(machine)
    return [
        f"hopbytes map {file} --on {spec}{method} --format mesh -o mesh.py",
        "sh mesh.py.sh train.py  # on every host; train.py calls torch_mesh() of mesh.py",
    ]


def advice_record(advice: Advice, pattern: str, machine: str) -> dict[str, Any]:
    """Return what ``advise --json`` prints."""
    found = advice.recommended
    return {
        "recommendation": advice.verdict.sentence, "verdict": advice.verdict.to_dict(),
        "keep": advice.verdict.keep, "recommended": None if found is None else found.name,
        "usual": advice.usual.name, "gain": advice.gain, "type": to_type(advice, pattern, machine),
        "undo": UNDO, "grade": advice.grade, "rounds": advice.rounds, "machine": machine,
        "candidates": [each.to_dict() for each in advice.candidates], "notices": list(advice.notices),
    }  # fmt: skip


def advice_text(advice: Advice, pattern: str, machine: str) -> str:
    """Return the recommendation, what to type, and the table of candidates."""
    lines = advice.verdict.sentences
    commands = to_type(advice, pattern, machine)
    lines += [f"  {command}" for command in commands]
    if commands:
        lines.append(UNDO)
    lines += ["", *_table(advice), ""]
    for each in dict.fromkeys((advice.usual, advice.recommended)):
        lines += [] if each is None else _details(each)
    lines.append(f"Predicted by {GRADES[advice.grade]}; computation is not part of it.")
    return "\n".join(lines)


def table_head(text: str) -> str:
    """Return the line of an advice that names the columns of its table."""
    return next(line for line in text.split("\n") if line.endswith("limited by"))


def _table(advice: Advice) -> list[str]:
    width = max(len(each.name) for each in advice.candidates)
    rows = [f"{'':<{width}}  {'seconds':>9}  {'of all seeds':>19}  {'change':>7}  between nodes  limited by"]
    for each in advice.candidates:
        low, high = each.seconds[0], each.seconds[-1]
        span = f"{duration(low)} to {duration(high)}" if len(each.seconds) > 1 else ""
        change = each.best / advice.usual.best - 1 if advice.usual.best else 0.0
        moved = short_amount(each.prediction.bytes_between_nodes * advice.rounds, "B")
        shown = "" if each is advice.usual else f"{change:+.0%}"
        rows.append(
            f"{each.name:<{width}}  {duration(each.best):>9}  {span:>19}  {shown:>7}  {moved:>13}  "
            f"{LIMITS[each.prediction.limit]}"
        )
    return rows


def _details(each: Candidate) -> list[str]:
    levels = ", ".join(f"{name} {short_amount(volume, 'B')}" for name, volume in each.levels.items())
    lines = [f"{each.name}: bytes by level: {levels}"] if levels else []
    hot = ", ".join(f"{name} ({short_amount(size, 'B')})" for name, size, _ in each.prediction.links[:LINKS])
    return [*lines, f"{each.name}: busiest links in a round: {hot}"] if hot else lines
