"""Reports in Chromium: nothing on the console, no request, zoom, tooltips, keyboard, accessibility."""

import json

import numpy as np
import pytest

import hopbytes as hb
from helpers.browser import browser, shown_in
from helpers.thorough import most
from hopbytes.html_report.report_origin import Origin

#: Tests that share a browser and the reports in it run in one process.
pytestmark = pytest.mark.xdist_group("reports")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

#: Number of ranks → pattern and machine.
CASES = {
    64: ("stencil:4x4x4", "node:8@10 package:2@3 core:4@1"),
    1024: ("stencil:16x16x4", "torus:4x4x4@10 / package:2@2 core:8@1"),
    4096: ("stencil:16x16x16", "torus:8x8x4@10 / package:2@2 core:8@1"),
}
SIZES = most([64, 1024, 4096], [64, 1024])


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports about mappings that exchange ranks of the launcher's own order; made when first asked for."""
    folder, found = tmp_path_factory.mktemp("reports"), {}

    def page(ranks):
        if ranks not in found:
            pattern, machine = CASES[ranks]
            graph, where = hb.read(pattern), hb.machine(machine)
            pe = np.arange(graph.n).reshape(-1, 4).T.reshape(-1)
            info = {"history": [[0.1, 10, 900], [0.5, 70, 400]], "comm_cost": 400}
            found[ranks] = folder / f"{ranks}.html"
            hb.write_report(graph, hb.Mapping(pe, where, info), found[ranks])
        return found[ranks]

    return page


@pytest.fixture(scope="module")
def tabs(chromium, pages):
    """Open reports that several tests look at: drawing the charts takes most of the time of a test."""
    found = {}

    def tab(ranks):
        if ranks not in found:
            found[ranks] = shown_in(chromium)
            found[ranks].open(pages(ranks))
        return found[ranks]

    yield tab
    for shown in found.values():
        shown.tab.close()


@pytest.mark.parametrize("ranks", SIZES)
def test_a_page_opens_without_errors_and_asks_for_nothing(tabs, pages, ranks):
    shown = tabs(ranks)
    assert shown.tab.evaluate("document.documentElement.dataset.charts") == "drawn"
    assert shown.messages == []
    assert [url for url in shown.requests if not url.startswith("data:")] == [pages(ranks).as_uri()]
    charts = shown.tab.evaluate("[...document.querySelectorAll('.view')].map(e => e.dataset.chart)")
    assert charts[:3] == ["matrix.0", "matrix.1", "levels"]
    assert charts[-1] == "history"
    assert ("links" in charts) == (ranks != 64)
    assert shown.tab.locator(".view svg").count() == len(charts)


def part_shown(shown, chart):
    """Return the words at the axes of a chart; their order in the page has no meaning."""
    labels = shown.tab.evaluate(
        "name => [...document.querySelectorAll(`[data-chart='${name}'] .role-axis-label text`)]"
        ".map(text => text.textContent)",
        chart,
    )
    return sorted(labels)


def another_part(shown, chart, before):
    """Wait until a chart shows something else than before, and return its labels."""
    for _ in range(100):
        now = part_shown(shown, chart)
        if now != before:
            return now
        shown.tab.wait_for_timeout(100)
    raise AssertionError(f"{chart} still shows {before}")


@pytest.mark.parametrize("ranks", SIZES)
def test_matrices_zoom_together_by_buttons_keys_and_mouse(tabs, ranks):
    shown = tabs(ranks)
    first, second = "matrix.0", "matrix.1"
    whole = part_shown(shown, first), part_shown(shown, second)
    shown.tab.locator(f"[data-of='{first}'][data-zoom='in']").click()
    half = another_part(shown, first, whole[0])
    another_part(shown, second, whole[1])
    shown.tab.locator(f"[data-of='{second}'][data-zoom='all']").click()
    assert another_part(shown, first, half) == whole[0]
    shown.tab.locator(f"[data-chart='{first}']").focus()
    shown.tab.keyboard.press("+")
    assert another_part(shown, first, whole[0]) == half
    shown.tab.keyboard.press("0")
    assert another_part(shown, first, half) == whole[0]
    shown.tab.locator(f"[data-chart='{second}'] svg").hover()
    shown.tab.keyboard.down("Control")
    shown.tab.mouse.wheel(0, -500)
    nearer = another_part(shown, first, whole[0])
    shown.tab.keyboard.up("Control")
    shown.tab.locator(f"[data-of='{first}'][data-zoom='all']").click()
    assert another_part(shown, first, nearer) == whole[0]
    assert shown.messages == []


@pytest.mark.parametrize("ranks", SIZES)
def test_tooltips_tell_who_sends_how_much(tabs, ranks):
    shown = tabs(ranks)
    told = []
    for chart in ("matrix.1", "levels"):
        # Under the mouse is what has been drawn last: the rectangles with texts.
        marks = shown.tab.locator(f"[data-chart='{chart}'] .mark-rect.role-mark path")
        mark = marks.nth(marks.count() // 2)
        mark.scroll_into_view_if_needed()
        box = mark.bounding_box()
        shown.tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        shown.tab.wait_for_selector("#vg-tooltip-element.visible")
        told.append(shown.tab.inner_text("#vg-tooltip-element"))
    assert "sender" in told[0]
    assert " on " in told[0]
    assert "volume" in told[1]


@pytest.mark.parametrize(("ranks", "scheme"), [(64, "dark"), (1024, "light")])
def test_axe_finds_nothing(chromium, pages, ranks, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe (extra test)")
    shown = shown_in(chromium, color_scheme=scheme, bypass_csp=True)
    shown.open(pages(ranks))
    for details in shown.tab.locator("details").all():
        details.evaluate("element => element.open = true")
    found = axe.Axe().run(shown.tab).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    shown.tab.close()


def test_dark_and_light_differ_in_all_charts(chromium, pages, tabs):
    colours = []
    dark_tab = shown_in(chromium, color_scheme="dark")
    dark_tab.open(pages(64))
    for shown in (tabs(64), dark_tab):
        colours.append(
            shown.tab.evaluate(
                "[...document.querySelectorAll('.view svg .role-axis-label text')]"
                ".map(text => getComputedStyle(text).fill)"
            )
        )
        assert shown.tab.evaluate("getComputedStyle(document.body).backgroundColor") != colours[-1][0]
    dark_tab.tab.close()
    light, dark = map(set, colours)
    assert len(light) == len(dark) == 1
    assert light != dark


def test_without_scripts_pictures_and_tables_remain(chromium, pages):
    shown = shown_in(chromium, java_script_enabled=False)
    shown.tab.goto(pages(64).as_uri())
    pictures = shown.tab.locator("noscript img")
    assert pictures.count() == 4
    for picture in pictures.all():
        box = picture.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 100
    assert shown.tab.locator("table").count() >= 7
    shown.tab.close()


def test_a_printed_page_has_every_section(chromium, pages, tmp_path):
    shown = shown_in(chromium)
    shown.open(pages(1024))
    shown.tab.emulate_media(media="print")
    assert shown.tab.locator("button:visible").count() == 0
    widths = shown.tab.evaluate(
        "[...document.querySelectorAll('.view svg')].map(svg => svg.getBoundingClientRect().width)"
    )
    assert min(widths) > 200
    printed = shown.tab.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    shown.tab.close()


def test_names_from_files_cannot_become_tags(chromium, tmp_path):
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 5])
    origin = Origin(pattern="</script><script>alert(1)</script><b>x", command="<b>`${1}`</b>")
    mapping = hb.Mapping([1, 0], hb.machine("node:2@10 core:1@1"), {"preset": "<i>p</i>"})
    path = tmp_path / "odd.html"
    hb.write_report(graph, {"<u>m</u>'\"`${1}": mapping}, path, origin=origin)
    shown = shown_in(chromium)
    shown.open(path)
    assert shown.messages == []
    assert shown.tab.locator("b, i, u").count() == 0
    specs = json.loads(shown.tab.inner_text("#charts") or shown.tab.text_content("#charts"))
    assert "<u>m</u>" in json.dumps(specs)
    shown.tab.close()
