"""No regular expression takes more than linearly many steps, whatever text it meets."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from helpers.counted_matching import Program, TooManyStepsError, attacks, parse, sample, steps
from helpers.paths import ROOT

SOURCE = ROOT / "src" / "hopbytes"
#: Methods that try every place of a text.
SEARCHING = ("search", "findall", "finditer", "sub", "subn", "split")
USES = ("match", "fullmatch", *SEARCHING)
#: Text that grows by a factor may take this many times as many steps; squares of it are four times as many.
GROWTH, MOST = 4, 6.5
SHORT, LIMIT = 16, 60


class Expression(NamedTuple):
    """A pattern, the place of its definition, and how it is used."""

    where: str
    pattern: Any
    flags: int
    uses: frozenset[str]


@functools.cache
def expressions() -> tuple[Expression, ...]:
    """Return the compiled patterns of all modules, and those that functions use directly."""
    return tuple(_expressions())


def _expressions() -> Iterator[Expression]:
    texts = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    files = {path: ast.parse(text) for path, text in texts.items()}
    used: dict[tuple[str, str], set[str]] = {}
    for path, tree in files.items():
        local = {str(path)}
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in USES:
                owner = node.value.value if isinstance(node.value, ast.Subscript) else node.value
                name = getattr(owner, "id", getattr(owner, "attr", ""))
                for where in local if name not in names else map(str, files):
                    used.setdefault((where, name), set()).add(node.attr)
    seen = set()
    for path, tree in files.items():
        where = path.relative_to(SOURCE.parent)
        names = {}
        if "re.compile(" in texts[path]:
            names = vars(
                importlib.import_module(".".join(where.with_suffix("").parts).removesuffix(".__init__"))
            )
        for name, value in names.items():
            for found in (
                value if isinstance(value, tuple) else value.values() if isinstance(value, dict) else (value,)
            ):
                if isinstance(found, re.Pattern) and (name, found.pattern) not in seen:
                    seen.add((name, found.pattern))
                    yield Expression(
                        f"{where}:{name}",
                        found.pattern,
                        found.flags,
                        frozenset(used.get((str(path), name), {"match"})),
                    )
        for node in ast.walk(tree):
            function = node.func if isinstance(node, ast.Call) else None
            direct = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
            if (
                direct
                and function.value.id == "re"
                and function.attr in USES
                and isinstance(node.args[0], ast.Constant)
            ):
                yield Expression(f"{where}:{node.lineno}", node.args[0].value, 0, frozenset({function.attr}))


def is_linear(expression: Expression) -> str:
    """Return an attack that takes too many steps; empty if there is none."""
    parsed = parse(expression.pattern, expression.flags & re.MULTILINE | expression.flags & re.VERBOSE)
    program = Program(parsed)
    search = not expression.uses.isdisjoint(SEARCHING)
    whole = expression.uses == {"fullmatch"}
    for before, piece in sorted(set(attacks(parsed))):
        for end in ("\0", '"'):
            texts = (before + piece * length + end for length in (SHORT, GROWTH * SHORT))
            count = [limited(program, text, search, whole) for text in texts]
            if count[1] == 10**9 or count[1] > MOST * (count[0] + 20):
                return f"{before!r} + {piece!r} * n + {end!r}: {count}"
    return ""


def limited(program, text, search, whole):
    limit = 10**4 + LIMIT * len(text)
    try:
        return steps(program, text, search=search, whole=whole, limit=limit)
    except TooManyStepsError:
        return 10**9


def test_no_text_takes_more_than_linearly_many_steps():
    found = {expression.where: is_linear(expression) for expression in expressions()}
    assert len(found) > 150
    assert {where: attack for where, attack in found.items() if attack} == {}


@pytest.mark.parametrize(
    ("pattern", "uses"),
    [
        (r"[a-z]+:x", "search"), (r"[0-9]*\.?[0-9]+", "fullmatch"), (r"(?:a+)+b", "match"),
        (r"a\s+(.*?)\s*#", "match"), (r"(?:x|xx)*y", "match"), (r"(_a|_b)+$", "search"),
        (rb"([A-Za-z0-9._-]+):([0-9]{1,10}) NCCL INFO (.*)", "search"),
    ],
)  # fmt: skip
def test_patterns_that_take_more_are_found(pattern, uses):
    assert is_linear(Expression("example", pattern, 0, frozenset({uses}))) != ""


def test_the_counted_engine_matches_as_python_does():
    for expression in expressions():
        parsed = parse(expression.pattern, expression.flags & re.MULTILINE | expression.flags & re.VERBOSE)
        pattern = (
            expression.pattern.decode("latin-1")
            if isinstance(expression.pattern, bytes)
            else expression.pattern
        )
        compiled = re.compile(pattern, (expression.flags & ~re.UNICODE) | re.ASCII)
        if expression.flags & re.IGNORECASE or "(?(" in pattern:
            continue
        program = Program(parsed)
        for text in (sample(parsed), sample(parsed, most=3), "a0 ", sample(parsed)[1:] + "x"):
            found, expected = program.run(text, 0)[0], compiled.match(text)
            assert found == (-1 if expected is None else expected.end()), (expression.where, text)
