"""The order in which launchers place ranks by default."""

from __future__ import annotations

import pytest

import hopbytes as hb
from hopbytes.formats.mappings.launchers import usual_order


@pytest.mark.parametrize(
    ("distribution", "order"),
    [
        (None, "block"), ("block", "block"), ("cyclic", "cyclic"), ("Cyclic:block:cyclic", "cyclic"),
        ("cyclic,NoPack", "cyclic"), ("plane=4", "plane=4"), ("plane", "plane=2"), ("plane=0", "block"),
        ("arbitrary", "block"), ("*:cyclic", "block"), ("block:cyclic,Pack", "block"),
    ],
)  # fmt: skip
def test_srun_takes_the_distribution_of_its_environment(monkeypatch, distribution, order):
    """srun(1): SLURM_DISTRIBUTION is the same as -m; sbatch sets it from its own option."""
    where = hb.allocate("node:2 core:4")
    monkeypatch.setenv("SLURM_DIST_PLANESIZE", "2")
    if distribution is None:
        monkeypatch.delenv("SLURM_DISTRIBUTION", raising=False)
    else:
        monkeypatch.setenv("SLURM_DISTRIBUTION", distribution)
    assert usual_order("slurm", where) == order
    assert usual_order("cray", where) == order
    assert (usual_order("openmpi", where), usual_order("flux", where)) == ("fill", "block")
    assert usual_order(None, where) == "fill"
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    assert usual_order(None, hb.allocate("job")) == order
