"""Messages of the library name arguments; people at a terminal read options."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hopbytes as hb
from hopbytes.cli.app import command_of
from hopbytes.cli.option_names import OPTIONS, as_options, for_terminal
from hopbytes.cli.verbs import VERBS

SOURCE = Path(hb.__file__).parent
#: Folders whose texts are written for a terminal.
FOR_TERMINALS = ("cli", "show")
OURS = re.compile(rf"(?<![\w-])({'|'.join(sorted(set(OPTIONS.values())))})(?![\w-])")
#: Texts with options of other programs, or commands to type.
THEIRS = re.compile(r"mpirun|mpiexec|srun|torchrun|flux|jsrun|runjob|--hostfile|hopbytes (map|write)")


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("`hosts`: 3 names", "--hosts: 3 names"),
        ("`oversubscribe=True`, `partition=True`", "--oversubscribe, --partition"),
        ("`partition=False` selects one each", "--processes selects one each"),
        ("(nodes: `machine='node:2@10 core:4@1'`)", "(nodes: --on 'node:2@10 core:4@1')"),
        ("`read(format='csv')` or `write(format)`", "--input-format csv or --format"),
        ("`Limits(work=38)` repeats", "--work-limit 38 repeats"),
        ("`unknown` and `code()` stay", "`unknown` and `code()` stay"),
        ("`per='gpu'`, `hosts=a b`", "--per gpu, --hosts a b"),
    ],
)
def test_translation(text, typed):
    assert as_options(text) == typed


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("60959284 scanned edges", "60,959,284 scanned edges"),
        ("launch: srun 'a `hosts`' ./app 60959284 ranks", "launch: srun 'a `hosts`' ./app 60959284 ranks"),
        ("launch, Open MPI 5: mpirun `hosts`", "launch, Open MPI 5: mpirun `hosts`"),
        ("x.gz: more than 17179869184 bytes stored", "x.gz: more than 17,179,869,184 bytes stored"),
        ("(12345 tasks; 9999 slots)", "(12,345 tasks; 9999 slots)"),
        ("task 12345 is on PE 70000", "task 12345 is on slot 70000"),
        ("data-12345 tasks and run/12345 tasks stay", "data-12345 tasks and run/12345 tasks stay"),
    ],
)
def test_large_counts_have_separators_and_numbers_of_things_do_not(text, typed):
    assert for_terminal(text) == typed


def test_options_of_the_table_exist():
    known = {name for verb in VERBS for option in command_of(verb).params
             for name in (*option.opts, *option.secondary_opts)}  # fmt: skip
    assert {option for option in OPTIONS.values() if option.startswith("--")} <= known


def test_no_message_of_the_library_names_an_option():
    """Docstrings may, since they also speak of the command line; texts that are raised or told may not."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in FOR_TERMINALS or path.parent.name == "ptram":
            continue
        tree = ast.parse(path.read_text())
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        first = (node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and node.body)
        docs = {id(statement.value) for statement in first if isinstance(statement, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(text, str) or id(node) in docs:
                continue
            if OURS.search(text) and not THEIRS.search(text):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {text[:60]}")
    allowed = ("formats/mappings/", "launch/", "record/")  # they hold commands of launchers
    assert not [each for each in found if not each.startswith(allowed)]


def _run(*words):
    return subprocess.run([sys.executable, "-m", "hopbytes", *words], capture_output=True, text=True)


def test_errors_and_notices_at_the_terminal():
    refused = _run("map", "stencil:4x4", "--processes", "--on", "core:8")
    assert "--oversubscribe, or --partition" in refused.stderr
    told = _run("map", "stencil:16x16", "--on", "core:8")
    assert told.stderr.count("treated as a partition") == 1  # not as a warning of Python, too
    assert "(--processes selects one each)" in told.stderr
    assert "Warning" not in told.stderr
    assert "`" not in refused.stderr + told.stderr


@pytest.mark.parametrize(("text", "slot", "typed"), [
    ("3 tasks on PE 2, 8 PEs", "GPU", "3 tasks on GPU 2, 8 GPUs"),
    ("16 processes on 20 slots: nodes are filled", "core", "16 processes on 20 cores: nodes are filled"),
    ("an arc, 2 arcs", "slot", "a pair, 2 pairs"),
    ("mpirun --map-by slot, ppr:2:slot, slot=0-3, slots=4, --map-by core:PE=2", "core", None),
    ("fixed.txt:2: PE 99, expected one of 0..63", "core", None),
    ("a/PE/slot.txt, 'PE' and slot.json, PE-1", "core", None),
])  # fmt: skip
def test_words_of_the_terminal(text, slot, typed):
    assert for_terminal(text, slot) == (typed or text)
