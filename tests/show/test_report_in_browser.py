"""Reports in Chromium: nothing on the console, no request, tool tips, dark, print, accessibility."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.browser import browser, shown_in
from helpers.thorough import most
from hopbytes.show.page import Origin

#: Tests that share a browser and the reports in it run in one process.
pytestmark = pytest.mark.xdist_group("reports")

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
            graph, where = hb.read(pattern), hb.allocate(machine)
            pe = np.arange(graph.n).reshape(-1, 4).T.reshape(-1)
            info = {"history": [[0.1, 10, 900], [0.5, 70, 400]], "comm_cost": 400}
            found[ranks] = folder / f"{ranks}.html"
            hb.write_report(graph, hb.Mapping(pe, where, info), found[ranks])
        return found[ranks]

    return page


@pytest.fixture(scope="module")
def tabs(chromium, pages):
    """Open reports that several tests look at."""
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
    assert shown.messages == []
    assert [url for url in shown.requests if not url.startswith("data:")] == [pages(ranks).as_uri()]
    charts = shown.tab.evaluate("[...document.querySelectorAll('figure')].map(e => e.id)")
    assert charts[:3] == ["matrix-0", "matrix-1", "levels"]
    assert charts[-1] == "history"
    assert ("links" in charts) == (ranks != 64)
    assert shown.tab.locator("figure svg").count() == len(charts)
    assert shown.tab.locator("script, noscript").count() == 0
    for picture in shown.tab.locator("figure svg").all():
        box = picture.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 80


def test_tool_tips_tell_who_sends_how_much(tabs):
    shown = tabs(64)
    told = [
        shown.tab.locator(f"#{chart} rect title").first.text_content()
        for chart in ("matrix-1", "levels", "history")
    ]
    assert told[0].startswith("rank ")
    assert " (node 0) to " in told[0]
    assert told[1].startswith("in order: ")
    assert "J 900 after" in told[2]


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


def test_dark_and_light_differ(chromium, pages, tabs):
    """Pictures are drawn once; the dark page turns their brightness, and their own paper is clear."""
    dark_tab = shown_in(chromium, color_scheme="dark")
    dark_tab.open(pages(64))
    looks = []
    for shown in (tabs(64), dark_tab):
        asked = "getComputedStyle(document.querySelector('figure svg')).filter"
        paper = "getComputedStyle(document.querySelector('figure svg > rect')).fill"
        looks.append((shown.tab.evaluate("getComputedStyle(document.body).backgroundColor"),
                      shown.tab.evaluate(asked), shown.tab.evaluate(paper)))  # fmt: skip
    dark_tab.tab.close()
    light, dark = looks
    assert light[0] != dark[0]
    assert (light[1], light[2], dark[2]) == ("none", "none", "none")
    assert "invert" in dark[1]


@pytest.mark.parametrize("ranks", [64, 1024])
def test_a_printed_page_has_no_empty_section_and_the_matrices_on_its_first_page(chromium, pages, ranks):
    shown = shown_in(chromium, viewport={"width": 718, "height": 1040})  # A4 with the usual margins
    shown.open(pages(ranks))
    shown.tab.emulate_media(media="print")
    sections = shown.tab.evaluate(
        "[...document.querySelectorAll('section')].filter(e => e.offsetHeight)"
        ".map(e => [e.id, e.offsetHeight - e.querySelector('h2').offsetHeight])"
    )
    assert all(height > 30 for _, height in sections)
    assert ("ranks" in dict(sections)) == (ranks == 64)
    boxes = [one.bounding_box() for one in shown.tab.locator(".pair svg").all()]
    assert min(box["width"] for box in boxes) > 200
    if ranks == 64:
        assert max(box["y"] + box["height"] for box in boxes) < 1040
    assert shown.tab.pdf(format="A4").startswith(b"%PDF")
    shown.tab.close()


def test_names_from_files_cannot_become_tags(chromium, tmp_path):
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 5])
    origin = Origin(pattern="</script><script>alert(1)</script><b>x", command="<b>`${1}`</b>")
    mapping = hb.Mapping([1, 0], hb.allocate("node:2@10 core:1@1"), {"preset": "<i>p</i>"})
    path = tmp_path / "odd.html"
    hb.write_report(graph, {"<u>m</u>'\"`${1}": mapping}, path, origin=origin)
    shown = shown_in(chromium)
    shown.open(path)
    assert shown.messages == []
    assert shown.tab.locator("b, i, u").count() == 0
    assert shown.tab.locator("h1").text_content().startswith("</script><script>alert(1)")
    shown.tab.close()
