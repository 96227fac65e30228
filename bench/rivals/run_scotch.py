"""Child process: one run of ``scotch_gmap`` on a METIS file, many tasks per PE, with its inner seconds.

Started by bench/rivals/tools.py. The program reads its own format, which is written here. Prints one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import time

#: Its own words for how hard it tries.
STRATEGIES = {"speed": "-cs", "default": "-cq"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph")
    parser.add_argument("--hierarchy", required=True)
    parser.add_argument("--distance", required=True)
    parser.add_argument("--mode", choices=sorted(STRATEGIES), required=True)
    parser.add_argument("--imbalance", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True, help="not used: its seed is fixed")
    parser.add_argument("--threads", type=int, required=True, help="not used: as it was built")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()

    start = time.perf_counter()
    import hopbytes as hb
    from bench.rivals import scotch_gmap

    imported = time.perf_counter()
    graph = hb.read(options.graph, format="metis")
    if graph.loads is not None:
        raise SystemExit("tasks with loads are not handed over")
    where = hb.machine(hierarchy=options.hierarchy, distance=options.distance)
    read = time.perf_counter()
    words = (STRATEGIES[options.mode], f"-b{options.imbalance}")
    answer = scotch_gmap.place(graph, where, "plain", options=words)
    answer.pe.astype("int32").tofile(options.out)
    seconds = {"import": imported - start, "read": read - imported, "map": answer.map_seconds}
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
