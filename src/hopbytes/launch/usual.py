"""The default order in which launchers place ranks, and the slots that their formats can express."""

from __future__ import annotations

import os

from hopbytes.formats.base import Capabilities, formats
from hopbytes.machines.allocate.launcher_order import PLANE
from hopbytes.model.allocation import Allocation, SlotUse

#: Variable that is set in jobs of Slurm, whose srun places equally many ranks on every node.
SLURM_JOB = "SLURM_JOB_ID"


def usual_order(form: str | None, where: Allocation) -> str:
    """Return the order in which a launcher places ranks by default.

    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2 core:4")
    >>> usual_order("slurm", where), usual_order("openmpi", where), usual_order(None, where)
    ('block', 'fill', 'fill')
    """
    can = _capabilities(form)
    if can is not None and can.launcher:
        return _of_srun() if can.launcher.startswith("srun") else can.usual_order
    in_slurm = SLURM_JOB in os.environ and where.machine.job is not None
    return _of_srun() if in_slurm else "fill"


def _of_srun() -> str:
    """Return the order of nodes that srun takes by default, which sbatch and users set for all steps."""
    word = os.environ.get("SLURM_DISTRIBUTION", "").lower().replace(",", ":").partition(":")[0]
    if word.partition("=")[0] == "plane":
        size = word.partition("=")[2] or os.environ.get("SLURM_DIST_PLANESIZE", "")
        return f"plane={size}" if PLANE.fullmatch(f"plane={size}") else "block"
    return "cyclic" if word == "cyclic" else "block"


def slots_for(form: str | None, launched: str | None = None) -> dict[str, bool]:
    """Return keywords of :func:`hopbytes.allocate` that restrict slots to what a format can express.

    Some launchers take one number of ranks for all nodes. Format ``newrank`` can use only slots on which the
    launcher starts ranks by default. The result is empty if the format can express any choice of slots.
    """
    can = _capabilities(form)
    if can is None:
        return {}
    if form == "newrank":
        return {"spread": True} if launched == "cyclic" else {"pack": True}
    return {} if can.unequal_nodes or not can.launcher else {"equal_nodes": True}


def slots_unspecified(use: SlotUse) -> bool:
    """Return whether no option determines which slots are used, so that the format may choose them."""
    return not (use.chosen or use.oversubscribe)


def _capabilities(form: str | None) -> Capabilities | None:
    if form is None or form not in formats or formats[form].holds != "mapping":
        return None
    return formats[form].capabilities
