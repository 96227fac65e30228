"""The experiments of two papers on congestion: of UMPA on a torus, of PTRAM on a fat tree.

``python -m bench.papers.congestion torus --graphs DIR --out torus.jsonl`` is ``paper003.py``, ``python -m
bench.papers.congestion fattree quality --out ptram.jsonl`` is ``ptram.py``. Both go on where they were
stopped, print geometric means of ratios to DEF (tasks in order) beside the published ones, and draw them.
"""

from __future__ import annotations

import sys

from bench.papers import paper003, ptram

EXPERIMENTS = {"torus": paper003.main, "fattree": ptram.main}


def main() -> None:
    """Hand the command line on."""
    if sys.argv[1:2] == [] or sys.argv[1] not in EXPERIMENTS:
        raise SystemExit(f"expected one of {', '.join(EXPERIMENTS)}, then its options (--help)")
    EXPERIMENTS[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    main()
