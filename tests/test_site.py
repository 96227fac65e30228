"""The documentation builds as a site without a network; its links lead somewhere, and it names everything."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import hopbytes as hb
from helpers.browser import browser, shown_in
from helpers.paths import ROOT
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.show.catalogue import KINDS, catalogue

#: Pages that list everything; a name has to be explained on another one.
LISTS = {"registered.html", "cli.html", "CHANGELOG.html", "glossary.html", "RESULTS.html", "NOTES.html"}
#: What the extra docs brings.
NEEDED = ("sphinx", "myst_nb", "furo", "sphinx_design", "sphinx_copybutton", "numpydoc", "matplotlib")
#: Connections to other computers are refused inside the build, and in notebooks that it starts.
NO_NETWORK = """
import socket
ask = socket.socket.connect
def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(("127.", "::1")):
        raise OSError(f"the build of the documentation asks for {address}")
    return ask(self, address)
socket.socket.connect = connect
"""
#: What pages fetch when they are opened: scripts, styles and pictures.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


def slow(test):
    """Mark a test that needs the built site; they run in one process, so that it is built once."""
    return pytest.mark.slow(pytest.mark.xdist_group("site")(test))


@dataclass
class Page(HTMLParser):
    """Links, targets, code and pictures of one page."""

    path: Path
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    targets: set[str] = field(default_factory=set)
    pictures: list[tuple[str, str]] = field(default_factory=list)
    code: str = ""

    def __post_init__(self):
        super().__init__()
        self.inside = 0
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Collect what a tag refers to."""
        values = dict(attrs)
        self.targets |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "img":
            self.pictures.append((values["src"], values.get("alt") or ""))
        if tag in FETCHED and values.get(FETCHED[tag]) and values.get("rel") != "canonical":
            self.fetched.append(values[FETCHED[tag]])
        self.inside += tag in ("code", "pre")

    def handle_endtag(self, tag):
        """Leave code."""
        self.inside -= tag in ("code", "pre")

    def handle_data(self, data):
        """Collect words in code."""
        if self.inside:
            self.code += f"{data} "


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of the built site by their path in it."""
    for module in NEEDED:
        pytest.importorskip(module, reason="the documentation needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(NO_NETWORK)
    blocked = os.pathsep.join([str(folder / "block"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, ROOT / "docs/make_site.py", folder / "pages"],
        capture_output=True, text=True, timeout=900, env=os.environ | {"PYTHONPATH": blocked},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "index.html" in done.stdout
    root = folder / "pages"
    return {path.relative_to(root).as_posix(): Page(path) for path in root.rglob("*.html")}


@slow
def test_every_link_inside_the_site_leads_somewhere(site):
    @cache
    def targets(path):
        return Page(path).targets

    broken = []
    for name, page in site.items():
        for link in {*page.links, *page.fetched}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            asked = unquote(parts.fragment) if path.suffix == ".html" else ""
            if not path.exists() or (asked and asked not in targets(path)):
                broken.append(f"{name}: {link}")
    assert broken == []
    assert len(site) > 40


@slow
def test_the_search_finds_what_users_do_and_not_the_notes_of_developers(site):
    root = site["docs/index.html"].path.parents[1]
    index = json.loads((root / "searchindex.js").read_text().removeprefix("Search.setIndex(").rstrip(")"))
    for word in ("rankfil", "slurm"):  # stems
        places = index["terms"][word]
        pages = {index["docnames"][place] for place in (places if isinstance(places, list) else [places])}
        assert "docs/launching" in pages
        assert not any(page.startswith(("ARCHITECTURE", "CHANGELOG", "bench/")) for page in pages)
    assert '"docs/launching"' in (root / "_static/language_data.js").read_text()


@slow
def test_nothing_is_fetched_from_other_hosts(site):
    fetched = {url for page in site.values() for url in page.fetched}
    assert [url for url in fetched if urlsplit(url).scheme not in ("", "data") or urlsplit(url).netloc] == []


def names():
    """Everything that is registered, and the symbols of metrics."""
    for kind in KINDS:
        for row in catalogue(kind):
            yield kind, row["name"]


@slow
def test_every_registered_name_occurs_on_a_page_that_explains(site):
    code = " ".join(page.code for name, page in site.items() if Path(name).name not in LISTS)
    words = set(re.findall(r"[\w-]+", code))  # a search in all of the text takes half a second a name

    def occurs(name):
        plain = re.fullmatch(r"[\w-]+", name)
        return name in words if plain else re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", code)

    assert [f"{kind}: {name}" for kind, name in names() if not occurs(name)] == []


@slow
def test_every_public_name_is_on_the_page_of_the_api(site):
    targets = site["docs/lookup/api.html"].targets
    modules = {"mappers", "refiners", "presets", "plot", "__version__"}
    missing = [
        name for name in hb.__all__ if not {f"hopbytes.{name}", f"hopbytes.errors.{name}"} & targets
    ]  # fmt: skip
    assert set(missing) <= modules


@slow
def test_every_algorithm_has_a_picture_that_the_build_made(site):
    pages = [page for name, page in site.items() if "/understand/" in name]
    shown = [Path(src).name for page in pages for src, _ in page.pictures]
    wanted = {f"mapper_{name}.svg" for name in mappers} | {f"refiner_{name}.svg" for name in refiners}
    assert sorted(wanted - set(shown)) == []
    images = next(page.path for name, page in site.items() if name == "index.html").parent / "_images"
    for name in wanted:
        assert b"<svg" in (images / name).read_bytes()[:2000]


@slow
def test_every_picture_has_words_for_people_who_do_not_see_it(site):
    silent = [
        f"{name}: {src}" for name, page in site.items() for src, alt in page.pictures
        if not alt or alt == src or alt.endswith((".svg", ".png"))
    ]  # fmt: skip
    assert [one for one in silent if "notebook" not in one and "first_mapping" not in one] == []


@slow
def test_notebooks_have_been_run(site):
    text = site["docs/learn/notebook.html"].path.read_text()
    assert "cell_output" in text
    assert "Traceback" not in text
    assert site["docs/learn/notebook.html"].code.count("in order") > 2


#: A page of each kind: cards, tables, pictures, output of a notebook, docstrings.
LOOKED_AT = (
    "index", "do/machines", "understand/network-groups", "learn/notebook", "lookup/api", "understand/time",
)  # fmt: skip


@slow
def test_pages_fit_wide_and_narrow_windows_in_light_and_dark(site):
    grounds = set()
    with browser() as chromium:
        for width, scheme in ((1280, "light"), (400, "dark")):
            shown = shown_in(chromium, viewport={"width": width, "height": 900}, color_scheme=scheme)
            for name in LOOKED_AT:
                shown.tab.goto(site[f"docs/{name}.html"].path.as_uri())
                across = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert shown.tab.evaluate(across) <= 0, f"{name} at {width}"
                grounds.add((scheme, shown.tab.evaluate("getComputedStyle(document.body).backgroundColor")))
            assert shown.messages == []
            assert [url for url in shown.requests if not url.startswith(("file:", "data:"))] == []
    assert len(grounds) == len({ground for _, ground in grounds}) == 2


@slow
def test_axe_finds_nothing_serious(site):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe (extra test)")
    with browser() as chromium:
        for name in ("index", "understand/treematch"):
            shown = shown_in(chromium, bypass_csp=True)
            shown.tab.goto(site[f"docs/{name}.html"].path.as_uri())
            found = axe.Axe().run(shown.tab).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], name


def test_each_twin_of_an_algorithm_exists(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from site_parts.twins import TWINS

    assert set(TWINS) - {"refine_ptram"} <= set(mappers) | set(refiners)
    for module, function in TWINS.values():
        assert callable(getattr(importlib.import_module(f"reference.{module}"), function))


def test_the_pictures_of_the_readme_are_current():
    """``python docs/make_readme_picture.py`` draws them again."""
    spec = importlib.util.spec_from_file_location("make_readme", ROOT / "docs/make_readme_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, picture in module.pictures().items():
        assert path.read_bytes() == picture
        assert f"](docs/{path.name})" in (ROOT / "README.md").read_text()
        assert min(map(float, re.findall(r'<text[^>]* font-size="([\d.]+)"', picture.decode()))) >= 16
        assert float(re.search(r'<svg[^>]* width="([\d.]+)"', picture.decode())[1]) <= 830


#: Launchers, and a file that tests/launchers/test_launches_of_documents.py makes.
NOT_HERE = re.compile(r" -- |node\.xml")
PAGES = [ROOT / "docs/first-hour.md", *sorted((ROOT / "docs/do").glob("*.md"))]


#: Runs lines in one process, since starting one takes longer than most lines.
RUN_LINES = """
import shlex, sys
from hopbytes.cli import main
for line in sys.stdin.read().splitlines():
    sys.argv = shlex.split(line, comments=True)
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    if code:
        raise SystemExit(f"{line}: exit code {code}")
print("all lines ran")
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_recipes_without_a_launcher_run_as_they_are_printed(page, tmp_path):
    """launchers/test_launches_of_documents.py runs the others; a spec stands in for a probed machine."""
    marked = r"^(<!-- not run[^\n]*\n)?```\n(.*?)^```$"
    blocks = re.findall(marked, page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for mark, block in blocks if not mark for line in block.splitlines()]
    lines = [line for line in lines if not NOT_HERE.search(line)]
    assert all(line.startswith("hopbytes ") for line in lines)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    hb.write(hb.read("stencil:48x48"), tmp_path / "mesh.graph")
    hb.write(hb.read("stencil:8x8"), tmp_path / "app.pattern")
    done = subprocess.run(
        [sys.executable, "-c", RUN_LINES],
        input="\n".join(lines).replace("job.machine.json", "'node:8 core:8'"), cwd=tmp_path,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all lines ran\n")


def test_without_sphinx_the_build_says_what_is_missing(tmp_path):
    (tmp_path / "sphinx").mkdir()
    (tmp_path / "sphinx" / "__init__.py").write_text("raise ImportError\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, ROOT / "docs/make_site.py", tmp_path / "pages"],
        capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "make_site: the documentation needs Sphinx: pip install '.[docs]'\n"
