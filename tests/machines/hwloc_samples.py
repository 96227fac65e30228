"""Where the small hwloc files of the tests are, and those of the developers' folder."""

import os
from pathlib import Path

OWN = Path(__file__).parents[1] / "samples" / "hwloc"
SHARED = Path(os.environ.get("HOPBYTES_SHARED", Path(__file__).parents[3] / "shared")) / "samples" / "hwloc"


def sample(name: str) -> str:
    """Path of one of the small files."""
    return str(OWN / name)
