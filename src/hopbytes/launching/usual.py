"""What launchers do by themselves, and which slots they can be told to use, by the format they read."""

from __future__ import annotations

import os
from typing import Any

from hopbytes.formats.base import Capabilities, formats
from hopbytes.model.allocation import Allocation

#: Set in jobs of Slurm, whose srun gives every node equally many ranks.
SLURM_JOB = "SLURM_JOB_ID"


def usual_order(form: str | None, where: Allocation) -> str:
    """Return the order in which a launcher places ranks when nobody tells it more.

    Parameters
    ----------
    form : str or None
        Format of the placement, which names the launcher; None or a format of no launcher leaves it to the
        job: ``srun`` is expected where the machine is the running Slurm job.
    where : Allocation

    Returns
    -------
    str
        ``"fill"`` or ``"block"``, see :func:`hopbytes.machines.selection.launcher_order.launcher_placement`.

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.machine("node:2 core:4")
    >>> usual_order("slurm", where), usual_order("openmpi", where), usual_order(None, where)
    ('block', 'fill', 'fill')
    """
    can = _capabilities(form)
    if can is not None and can.launcher:
        return can.usual_order
    in_slurm = SLURM_JOB in os.environ and where.machine.job is not None
    return "block" if in_slurm else "fill"


def slots_for(form: str | None, launched: str | None = None) -> dict[str, bool]:
    """Return keywords of :func:`hopbytes.map_tasks` for what a format can say about slots; {}: anything.

    Some launchers are told one number of ranks for all nodes. New ranks (``newrank``) reach only slots on
    which the launcher starts ranks by itself.
    """
    can = _capabilities(form)
    if can is None:
        return {}
    if form == "newrank":
        return {"spread": True} if launched == "cyclic" else {"pack": True}
    return {} if can.unequal_nodes or not can.launcher else {"equal_nodes": True}


def said_nothing(options: dict[str, Any]) -> bool:
    """Whether nobody has said which slots are used, so that a format may."""
    return not any(options.get(name) for name in ("pack", "spread", "tasks_per_node", "per", "oversubscribe"))


def _capabilities(form: str | None) -> Capabilities | None:
    if form is None or form not in formats or formats[form].holds != "mapping":
        return None
    return formats[form].capabilities
