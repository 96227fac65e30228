"""Pages and pictures that are made from the source in every build."""

from __future__ import annotations

from pathlib import Path

from site_parts.algorithm_parts import write_algorithms
from site_parts.catalogue_parts import write_catalogue


def write_all(folder: Path) -> None:
    """Write all files below a folder, which pages include."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    write_catalogue(folder)
    write_algorithms(folder)
