"""``bench/RESULTS.md``, ``bench/PROTOCOL.md`` and their pictures, made from targets and kept rows.

    python -m bench.page                                          # write the pages and the pictures
    python -m bench.page --check                                  # say whether they are up to date
    python -m bench.page --keep bench/results/foundation.jsonl    # compress rows into the repository

After ``--keep`` say in ``bench/results/about.toml`` when, by which command and on what machine the rows were
measured. A file of rows gets a section of its own by a function in ``bench/pages/sections.py`` or
``bench/pages/how_good.py``. Tables whose rows were not kept stand in ``bench/results/earlier.toml``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import BENCH, RESULTS, ROOT
from bench.pages import asked, curves, how_good, kept
from bench.pages.kept import Row
from bench.pages.sections import SECTIONS

HEAD = """# What was asked and measured

Written by `python -m bench.page`; change `bench/targets.toml`, `bench/results` or the script, not this
page. [RESULTS.md](RESULTS.md) is the short page, [README.md](README.md) says how to run everything, and
[NOTES.md](NOTES.md) what was tried. J is the sum over stored arcs of volume × distance; it and all ratios
of J or time are better when smaller. *Over bound* counts answers above ⌈(1 + ε)·c(V)/k⌉, by which all tools
are judged.

## Targets

What was asked stands in `bench/targets.toml`. A number is computed from the rows that its source names, or
was measured at a date by a command and its rows were not kept. Of several values the worst one counts.
**missed** says that a number is further from what was asked than may be.
"""


def section(name: str) -> tuple[str, dict[str, str]]:
    """Return the text of a section and its pictures by file name."""
    facts, rows = kept.about()[name], kept.rows(name)
    parts = [f"### {name.replace('_', '-')}", facts["title"]]
    parts.append("```\n" + "\n".join(facts["commands"]) + "\n```")
    parts.append(f"{len(rows)} rows, measured {facts['measured']}; {facts['state']}.")
    pictures = {}
    for piece in SECTIONS[name](rows):
        if isinstance(piece, str):
            parts.append(piece)
            continue
        if isinstance(piece, tuple):
            file, title, values, most = piece
            pictures[f"{file}.svg"] = curves.profile(values, title, most)
        else:
            file, title = piece.file, piece.title
            pictures[f"{file}.svg"] = curves.drawn(piece)
        parts.append(f"![{title}](results/{file}.svg)")
    return "\n\n".join(parts), pictures


def table(one: Row) -> str:
    """Return one of the tables whose rows were not kept."""
    parts = [f"#### {one['title']}", "```\n" + "\n".join(one["commands"]) + "\n```"]
    parts.append(f"Measured {one['measured']}, {one['state']}. {one.get('note', '')}".rstrip())
    if "text" in one:
        parts.append("```\n" + one["text"].strip("\n") + "\n```")
    else:
        lines = [one["heads"], ["---"] * len(one["heads"]), *one["rows"]]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts)


def made() -> dict[Path, str]:
    """Return everything that the page consists of: path → text."""
    parts: list[str] = [HEAD + "\n" + asked.summary() + "\n\n" + asked.tables(), "## From kept rows"]
    files: dict[Path, str] = {}
    for name in SECTIONS:
        if kept.rows(name):
            text, pictures = section(name)
            parts.append(text)
            files.update({RESULTS / file: picture for file, picture in pictures.items()})
    parts.append(
        "## Measured before\n\nTables of dated runs whose rows were not kept; how a time is to be read "
        "depends on the state of the machine, which stands beside the date."
    )
    tables = kept.earlier()
    for name in dict.fromkeys(one["section"] for one in tables):
        parts.append(f"### {name}")
        parts.extend(table(one) for one in tables if one["section"] == name)
    return {BENCH / "RESULTS.md": how_good.made(), BENCH / "PROTOCOL.md": "\n\n".join(parts) + "\n", **files}


def stale() -> list[Path]:
    """Return the files that are not what would be written now."""
    return [
        path for path, text in made().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> None:
    """Write, check or keep."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--check", action="store_true", help="write nothing, end with 1 if it would change")
    parser.add_argument("--keep", type=Path, nargs="+", metavar="ROWS", help="compress these files first")
    options = parser.parse_args()
    for path in options.keep or ():
        print(f"{path}: kept as {kept.keep(path).relative_to(ROOT)}")
    if options.check:
        for path in (found := stale()):
            print(f"{path.relative_to(ROOT)}: out of date, expected what python -m bench.page writes")
        sys.exit(bool(found))
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
