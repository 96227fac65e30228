"""Rules about the code as a whole: layers, sizes, style, types, and documentation that keeps up."""

from __future__ import annotations

import ast
import graphlib
import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import tests_of as lists
from helpers.paths import ROOT
from hopbytes.cli.verbs import VERBS
from hopbytes.show.catalogue import KINDS, catalogue

LONGEST_VERB = 40
LONGEST_LINE = 110
SOURCES = [
    path
    for folder in ("src", "core", "tests", "bench")
    for path in sorted((ROOT / folder).rglob("*.*"))
    if path.suffix in (".py", ".hpp", ".cpp")
]
PACKAGE = ROOT / "src/hopbytes"
#: Pages that people wrote, by their name, or by their path below docs/.
PAGES = {path.name: path for path in ROOT.glob("*.md")}
PAGES |= {
    path.relative_to(ROOT / "docs").as_posix(): path
    for path in (ROOT / "docs").rglob("*.md") if "_made" not in path.parts
}  # fmt: skip
DOCUMENTS = {name: path.read_text() for name, path in PAGES.items()}


def run_tool(*command: str) -> None:
    """Run a tool of this environment in the repository; its complaint is the failure message."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_layers_only_look_down():
    run_tool("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))")


def test_layers_and_their_picture_are_current():
    """``python tools/rooms.py --write`` writes them anew."""
    spec = importlib.util.spec_from_file_location("rooms", ROOT / "tools/rooms.py")
    rooms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rooms)
    modules = rooms.imports()
    assert "cli.verb_map" in modules["cli.app"], "imports by a name in a text count"
    assert rooms.picture(modules) == rooms.PICTURE.read_text()
    assert [path for path in rooms.LISTS if rooms.with_layers(path.read_text()) != path.read_text()] == []
    counts = rooms.counted(modules)
    assert counts["rooms"] <= 24
    assert counts["floors"] <= 10
    assert counts["circles"] == 0


def test_no_files_of_the_core_include_each_other_in_a_circle():
    """A header and the source of the same name count as one; what two of them share has its own header."""
    core = ROOT / "core"
    included: dict[str, set[str]] = {}
    for path in (path for path in SOURCES if path.is_relative_to(core)):
        unit = str(path.relative_to(core).with_suffix(""))
        others = {str(Path(name).with_suffix("")) for name in re.findall('#include "(.+)"', path.read_text())}
        included.setdefault(unit, set()).update(others - {unit})
    graphlib.TopologicalSorter(included).prepare()  # CycleError names a circle


def test_style():
    run_tool("-m", "ruff", "check", "--no-cache", ".")


def test_format_of_c_plus_plus():
    """Lines are broken as `.clang-format` says."""
    tool = shutil.which("clang-format", path=sysconfig.get_path("scripts")) or shutil.which("clang-format")
    assert tool, "clang-format is missing, install hopbytes[test]"
    sources = [path for path in SOURCES if path.suffix != ".py"]
    checked = subprocess.run([tool, "--dry-run", "--Werror", *sources], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_types():
    run_tool("-m", "mypy")


def test_no_line_of_the_package_or_the_core_is_too_long():
    """Ruff does not see C++, and ``noqa`` hides lines of Python from it."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES if path.relative_to(ROOT).parts[0] in ("src", "core")
        for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LONGEST_LINE
    ]  # fmt: skip
    assert long == []


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_are_thin(verb):
    """Counts the lines of code after the signature; a verb that needs more belongs into the library."""
    name = verb.replace("-", "_")
    lines = (ROOT / "src/hopbytes/cli" / f"{VERBS[verb].module}.py").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"def {name}("))
    body_start = next(i for i in range(start, len(lines)) if lines[i].endswith("-> None:")) + 1
    body_end = next((i for i in range(body_start, len(lines)) if lines[i] and lines[i][0] != " "), len(lines))
    assert body_end - body_start <= LONGEST_VERB


#: More arguments than this belong together in records.
MOST_PARAMETERS = 12


def parameters(path: Path) -> dict[str, int]:
    """Number of parameters of every function and method in a file; `self` and `cls` do not count."""
    counts = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            own = len([name for name in names if name not in ("self", "cls")])
            count = own + (given.vararg is not None) + (given.kwarg is not None)
            counts[node.name] = max(count, counts.get(node.name, 0))
    return counts


@pytest.mark.parametrize("module", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_arguments_are_grouped_in_records(module):
    """Public functions with options and the commands have a parameter for each; all others take few."""
    allowed = {"allocate", "read", "simulate", "write"}
    if module.parent.name == "cli":
        allowed |= {verb.replace("-", "_") for verb in VERBS}
    many = {name: count for name, count in parameters(module).items() if count > MOST_PARAMETERS}
    assert set(many) <= allowed, f"{module}: {many}, expected at most {MOST_PARAMETERS}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_registered_name_is_documented(kind):
    text = "\n".join(DOCUMENTS.values())
    missing = [row["name"] for row in catalogue(kind) if not re.search(rf"`{re.escape(row['name'])}\b", text)]
    assert missing == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_registered_thing_says_what_it_is(kind):
    assert [row["name"] for row in catalogue(kind) if not row["summary"]] == []


def test_page_of_options_is_current():
    """``python docs/make_cli.py`` renews it."""
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs/make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    make_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_cli)
    assert make_cli.PAGE.read_text() == make_cli.page()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_the_readme(verb):
    assert f"hopbytes {verb}" in DOCUMENTS["README.md"]


def test_documents_link_to_files_that_exist():
    broken = []
    for name, page in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{name}: {target}")
    assert broken == []


def test_tests_of_a_file_are_printed(capsys):
    """Test files at the place of a module, those that import it, a test file itself; a page is an error."""
    files = ("src/hopbytes/machines/kinds/torus.py", "tests/test_examples.py")
    assert lists.main([str(ROOT / file) for file in files]) == 0
    printed = capsys.readouterr().out.split()
    assert {"tests/machines/kinds/test_torus.py", "tests/test_examples.py"} <= set(printed)
    assert all((ROOT / name).is_file() for name in printed)
    assert lists.main([str(ROOT / "README.md")]) == 1
    assert "README.md" in capsys.readouterr().err


def test_test_files_have_names_of_their_own():
    """Two files of one name cannot be collected in one run, since their folders are no packages."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


#: Words that were replaced by a term of the field (docs/glossary.md), which the second word names.
REPLACED = {
    "arcs looked at": "scanned edges", "barren": "fruitless", "carrying_out": "executor",
    "climb": "uncoarsening", "contest": "tournament recombination", "crowded": "dense",
    "growths": "region-growing repetitions", "hosts_on": "attached hosts", "kick": "perturbation",
    "lonely": "unmatched", "loudest": "largest communication volume", "moderate": "rescale to 63 bits",
    "nodal": "two-level mapping", "nodes_on": "nested machine", "owe": "deferred update",
    "pose": "formulate", "promising": "candidate blocks", "restless": "has a cheaper block",
    "rim": "piercing candidates", "seam": "cut", "steering": "control flag and counters",
    "unary": "linear assignment cost", "venture": "unconstrained FM", "vicinity": "neighbourhood",
    "wander": "threshold accepting", "weighing": "with_weights",
}  # fmt: skip


def test_replaced_words_are_not_used():
    texts = {path: path.read_text() for path in SOURCES if path.relative_to(ROOT).parts[0] in ("src", "core")}
    texts |= {name: text for name, text in DOCUMENTS.items() if name != "CHANGELOG.md"}
    words = "|".join(map(re.escape, REPLACED))
    pattern = re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE)
    used = {str(name): pattern.findall(text) for name, text in texts.items()}
    assert {name: words for name, words in used.items() if words} == {}
