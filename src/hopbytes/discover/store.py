"""Measure the levels of a machine, store the machine, and describe the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopbytes.discover.measure import REFERENCE_BYTES, Measured, measure
from hopbytes.model.allocation import Allocation


def measure_to_file(
    command: Sequence[str], where: Allocation, output: str, *, force: bool = False, **options: Any
) -> str:
    """Write the machine of :func:`hopbytes.discover.measure.measure` to a file and return a table as text.
    """
    from hopbytes.formats.files import atomic_write, may_write
    from hopbytes.machines.kinds.machine import machine_text

    if output != "-":
        may_write(output, force)
    found = measure(command, where, **options)
    atomic_write({output: machine_text(found.machine, f"measure: {' '.join(command)}"[:500])})
    return table(found)


def table(found: Measured) -> str:
    """Return one line per measured level, outermost first.

    >>> from hopbytes.machines.spec import parse_machine
    >>> from hopbytes.discover.fit import Fit
    >>> print(table(Measured(parse_machine("core:2@3"), {"core": Fit(2.5e-7, 8e9, 0.01)}, {"core": 1})))
    level  pairs  latency     bandwidth  worst fit  distance (ns of 8192 bytes, or as it was)
    core       1  0.250 us    8.00 GB/s        1%  3
    """
    distance = {level.name: level.distance for level in found.machine.levels}
    width = max(len("level"), *map(len, found.fits))
    head = f"{'level':<{width}}  pairs  latency     bandwidth  worst fit  "
    rows = [f"{head}distance (ns of {REFERENCE_BYTES} bytes, or as it was)"]
    for name, fit in found.fits.items():
        rows.append(
            f"{name:<{width}}  {found.pairs[name]:>5}  {fit.latency * 1e6:.3f} us  "
            f"{fit.bandwidth / 1e9:>6.2f} GB/s  {fit.error:>8.0%}  {distance[name]}"
        )
    return "\n".join(rows)
