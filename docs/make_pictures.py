"""Draw the pictures of docs/pictures.md again: ``python docs/make_pictures.py``; a test checks them."""

from __future__ import annotations

from pathlib import Path

import hopbytes as hb
from hopbytes.show.back_ends import svg
from hopbytes.show.pictures import allocation_picture, evaluation_picture, mapping_picture, pattern_picture

FOLDER = Path(__file__).with_name("pictures")
EXAMPLES = Path(__file__).parents[1] / "examples"


def pictures() -> dict[str, bytes]:
    """Return the content of every picture by its file name; every run returns the same bytes."""
    program = hb.read(EXAMPLES / "halo_96.pattern")
    cluster = hb.allocate("node:8@10 package:2@3 core:6@1", hosts="n[1-8]")
    mapping = hb.map_tasks(program, cluster)
    halo = hb.read("stencil:8x8:bytes=1000000")
    torus, tree = hb.allocate("torus:4x4x4"), hb.allocate("fattree:8x8", hosts="c[01-64]")
    dragonfly = hb.allocate("dragonfly:4x4x4")
    drawn = {
        "pattern": pattern_picture(program),
        "evaluation": evaluation_picture(program, mapping),
        "ranks": mapping_picture(mapping),
        "folded": allocation_picture(hb.allocate("node:64 package:2 core:16", hosts="n[1-64]")),
        "torus": evaluation_picture(halo, hb.map_tasks(halo, torus)),
        "fat_tree": allocation_picture(tree),
        "dragonfly": allocation_picture(dragonfly),
    }
    return {f"{name}.svg": svg(*picture) for name, picture in drawn.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (FOLDER / name).write_bytes(content)
