"""The page of a report as HTML: no scripts, nothing that is loaded; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

from hopbytes.errors import printable
from hopbytes.formats.base import MARK
from hopbytes.html_report.page_charts import Chart
from hopbytes.html_report.page_content import Figure, Judged, Page
from hopbytes.html_report.page_tables import Table

#: The page may load nothing, from nowhere, and runs nothing.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
MATRIX_TEXT = (
    "Each row is a task that sends, each column a task that receives; both stand in the order of the "
    "machine, and lines separate the nodes. What lies in the squares on the diagonal stays inside a node. "
    "The colours are logarithmic and the same in all matrices."
)
UNDO_TEXT = (
    "start the program as before, without these files. Nothing is installed, changed or kept. Ranks keep "
    "their numbers and their input; only the cores differ. Results may differ in the last digits if the MPI "
    "library chooses the order of a reduction by node."
)
#: Lines of a list of tasks up to which it is shown at once, and printed.
SHORT = 40


def page_html(page: Page) -> str:
    """Return the whole page; control characters, which names in files may hold, are written as escapes."""
    return printable("\n".join(_page(page)), keep="\n\t") + "\n"


def _page(page: Page) -> Iterator[str]:
    style = files("hopbytes").joinpath("html_report/report.css").read_text()
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta name="generator" content="{escape(MARK)} {escape(page.version)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield f"<title>{escape(page.title)}: report of hopbytes</title>"
    yield f"<style>\n{style}</style>\n</head>\n<body>"
    yield '<a class="skip" href="#verdict">Skip to the verdict</a>'
    yield f'<header>\n<p class="kind">Report of a mapping</p>\n<h1>{escape(page.title)}</h1>'
    yield f"<p>{escape(page.subtitle)}</p>\n</header>\n<main>"
    several = len(page.judged) > 1
    yield from _section("verdict", "Verdict", (_judged(one, several) for one in page.judged))
    matrices = "\n".join(map(_figure, page.matrices))
    yield from _section(
        "matrix", "Communication matrix", [f"<p>{MATRIX_TEXT}</p>", f'<div class="pair">\n{matrices}\n</div>']
    )
    yield from _section("traffic", "Where the traffic goes", map(_figure, page.charts))
    if page.times is not None:
        notes = [f'<p class="note">{escape(note)}</p>' for note in page.time_notes]
        yield from _section("time", "Predicted time", [_table(page.times), *notes])
    everything = f"<details><summary>All metrics, exactly</summary>\n{_table(page.all_metrics)}\n</details>"
    yield from _section(
        "compare", "Against the launcher's own order", [_table(page.comparison), everything]
    )
    yield from _section("pairs", "Heaviest pairs", [_table(page.pairs)])
    if page.launches:
        yield from _section("launch", "Start the program, and go back", _launching(page))
    yield from _section("ranks", "Where the tasks are", map(_ranks, page.judged))
    yield from _section("made", "How it was made", _origin(page))
    yield "</main>\n</body>\n</html>"


def _section(name: str, title: str, parts: Iterable[str]) -> Iterator[str]:
    yield f'<section id="{name}" aria-labelledby="{name}-head">\n<h2 id="{name}-head">{escape(title)}</h2>'
    yield from parts
    yield "</section>"


def _judged(one: Judged, several: bool) -> str:
    name = escape(one.name)
    head = f' aria-label="{name}">\n<h3>{name}</h3>' if several else ">"
    headline = f'\n<p class="headline">{escape(one.headline)}</p>' if one.headline else ""
    sentences = "".join(f"\n<p>{escape(sentence)}</p>" for sentence in one.sentences)
    figures = "\n".join(map(_key_figure, one.figures))
    numbers = f'<ul class="figures">\n{figures}\n</ul>'
    return f'<article class="verdict"{head}{headline}{sentences}\n{numbers}\n</article>'


def _key_figure(one: Figure) -> str:
    kind = {True: " better", False: " worse", None: ""}[one.better]
    change = f'<span class="change{kind}">{escape(one.change)}</span>' if one.change else ""
    return (
        f'<li><span class="name">{escape(one.name)}</span>\n<span class="value">{escape(one.value)}</span>\n'
        f'<span class="before">in order {escape(one.before)}</span>\n{change}</li>'
    )


def _figure(one: Chart) -> str:
    return (
        f'<figure id="{one.name}">\n<figcaption><h3>{escape(one.title)}</h3></figcaption>\n'
        f'<div class="view">{one.picture}</div>\n'
        f"<details><summary>Numbers of this chart</summary>\n{_table(one.table)}\n</details>\n</figure>"
    )


def _table(one: Table) -> str:
    head = "".join(
        f'<th scope="col"{_words(place, one)}>{escape(name)}</th>' for place, name in enumerate(one.head)
    )
    rows = "\n".join(f"<tr>{_cells(row, one)}</tr>" for row in one.rows)
    caption = escape(one.caption)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n"
        "</table>\n</div>"
    )


def _words(place: int, table: Table) -> str:
    return ' class="words"' if place in table.words else ""


def _cells(row: tuple[str, ...], table: Table) -> str:
    first, *others = map(escape, row)
    if not others:
        return f'<th scope="rowgroup" colspan="{len(table.head)}" class="words group">{first}</th>'
    cells = [f"<td{_words(place, table)}>{cell}</td>" for place, cell in enumerate(others, 1)]
    return f'<th scope="row" class="words">{first}</th>{"".join(cells)}'


def _launching(page: Page) -> Iterator[str]:
    yield "<ol>"
    if page.stores:
        yield f"<li>Store the mapping that this report is about:\n{_code([page.stores])}</li>"
    yield "<li>Write the launch files and start the program:"
    for one in page.launches:
        yield f'<p class="launcher">{escape(one.launcher)}</p>\n{_code([one.writes, *one.starts])}'
    yield f"</li>\n<li>Check where the ranks are; the program is not started:\n{_code([page.checks])}</li>"
    yield f"</ol>\n<p><strong>To undo</strong>, {UNDO_TEXT}</p>"


def _code(lines: Iterable[str]) -> str:
    return f'<pre tabindex="0"><code>{escape(chr(10).join(lines))}</code></pre>'


def _ranks(one: Judged) -> str:
    title, lines = f"Tasks of every node, {escape(one.name)}", escape("\n".join(one.ranks))
    text = f'<pre tabindex="0">{lines}</pre>'
    if len(one.ranks) <= SHORT:
        return f"<h3>{title}</h3>\n{text}"
    return f"<details><summary>{title}</summary>\n{text}\n</details>"


def _origin(page: Page) -> Iterator[str]:
    rows = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in page.origin)
    yield f"<dl>\n{rows}\n</dl>"
    if page.notices:
        notes = "\n".join(f"<li>{escape(note)}</li>" for note in page.notices)
        yield f"<h3>Notes about the input</h3>\n<ul>\n{notes}\n</ul>"
