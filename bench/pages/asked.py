"""Targets beside what was measured: met, missed within the tolerance, or missed."""

from __future__ import annotations

from bench.pages import kept
from bench.pages.kept import Row
from bench.pages.numbers import compute


def verdict(target: Row, values: list[float]) -> str:
    """Judge the worst of some values.

    Examples
    --------
    >>> verdict({"at_most": 1.0, "miss": 0.01}, [0.98, 1.005])
    'within tolerance'
    """
    if "at_most" in target:
        beyond = max(values) - target["at_most"]
    else:
        beyond = target["at_least"] - min(values)
    return "met" if beyond <= 0 else "within tolerance" if beyond <= target["miss"] else "**missed**"


def measured(target: Row) -> tuple[float, str] | None:
    """Return the number computed from kept rows and the date of these; None where none are kept."""
    computed = target.get("computed")
    if computed is None or not (rows := kept.rows(computed["from"])):
        return None
    return compute(rows, computed), str(kept.about()[computed["from"]]["measured"])


def number(value: float) -> str:
    """Write a number as short as it is known.

    Examples
    --------
    >>> number(0.0), number(0.98765), number(95.4545), number(-4), number(1e-4)
    ('0', '0.988', '95.5', '-4', '0.0001')
    """
    return str(int(value)) if float(value).is_integer() else f"{value:.3g}"


def newest(target: Row) -> tuple[list[float], str, str]:
    """Return the numbers to judge, where they are from, and the command of those without kept rows."""
    if found := measured(target):
        source = target["computed"]["from"]
        return [found[0]], f"[{source}](#{source.replace('_', '-')}), {found[1]}", ""
    before = target["earlier"]
    note = f"; {before['note']}" if before.get("note") else ""
    value = before["value"]
    values = value if isinstance(value, list) else [value]
    return values, f"{before['measured']}{note}", f"`{target['command']}`"


def summary() -> str:
    """Say how many targets are met, by their newest numbers, and which are missed."""
    judged = [(verdict(target, newest(target)[0]), target) for target in kept.targets()]
    met, close = (sum(said == which for said, _ in judged) for which in ("met", "within tolerance"))
    missed = [target for said, target in judged if said == "**missed**"]
    head = f"Of {len(judged)} targets {met} are met, {close} within their tolerance, {len(missed)} missed:"
    return "\n".join([head, "", *(f"- {target['section']}: {target['what']}" for target in missed)])


def line(target: Row) -> str:
    """Return one line of the table."""
    unit = f" {target['unit']}" if target.get("unit") else ""
    sign, bound = ("≤", target["at_most"]) if "at_most" in target else ("≥", target["at_least"])
    values, source, command = newest(target)
    said = ", ".join(map(number, values)) + unit
    cells = (target["what"], f"{sign} {number(bound)}{unit}", said, verdict(target, values), source, command)
    return f"| {' | '.join(cells)} |"


def tables() -> str:
    """Return a table per section."""
    found: dict[str, list[str]] = {}
    for target in kept.targets():
        found.setdefault(target["section"], []).append(line(target))
    head = "| what | asked | measured | | from | command |\n|---|---|---|---|---|---|"
    return "\n\n".join(f"### {name}\n\n{head}\n" + "\n".join(lines) for name, lines in found.items())
