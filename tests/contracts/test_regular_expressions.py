"""No regular expression takes more than about linear time, whatever text it meets."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from helpers.paths import ROOT

if sys.version_info >= (3, 11):
    from re import _constants as names
    from re import _parser as parser
else:
    import sre_constants as names
    import sre_parse as parser

SOURCE = ROOT / "src" / "hopbytes"
#: Methods that try every place of a text.
SEARCHING = ("search", "findall", "finditer", "sub", "subn", "split")
USES = ("match", "fullmatch", *SEARCHING)
#: Length of texts, and processor seconds that one may take: in linear time it takes a few thousandths of one,
#: and in square time more than one on any computer.
LENGTH, LIMIT = 50_000, 0.5
ALPHABET = [chr(code) for code in range(128)]
CATEGORIES = {
    names.CATEGORY_DIGIT: r"\d", names.CATEGORY_SPACE: r"\s", names.CATEGORY_WORD: r"\w",
    names.CATEGORY_NOT_DIGIT: r"\D", names.CATEGORY_NOT_SPACE: r"\S", names.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
REPEATS = tuple(
    getattr(names, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(names, name)
)
#: Repeats up to this number are bounded, and the most that a sample repeats.
BOUND, SAMPLED = 1024, 64


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


def fits(op, value, char):
    """Tell whether an item that takes one character takes this one."""
    if op is names.LITERAL:
        return ord(char) == value
    if op is names.NOT_LITERAL:
        return ord(char) != value
    if op is names.ANY:
        return char != "\n"
    negated, found = False, False
    for kind, what in value:
        if kind is names.NEGATE:
            negated = True
        elif kind is names.LITERAL:
            found |= ord(char) == what
        elif kind is names.RANGE:
            found |= what[0] <= ord(char) <= what[1]
        else:
            found |= re.match(CATEGORIES[what], char, re.ASCII) is not None
    return found != negated


def sample(items):
    """Return a short text that fits items, as far as their characters tell."""
    text = ""
    for op, value in items:
        if op in (names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN):
            text += next(char for char in "a0 .-_,:=\"'" + "".join(ALPHABET) if fits(op, value, char))
        elif op is names.SUBPATTERN:
            text += sample(value[3])
        elif op is names.BRANCH:
            text += sample(value[1][0])
        elif op in REPEATS:
            text += sample(value[2]) * min(max(value[0], min(1, value[1])), SAMPLED)
    return text


def attacks(items, before="") -> Iterator[tuple[str, str]]:
    """Yield (what comes before, what is repeated) for every repeat without a bound."""
    items = list(items)
    for place, (op, value) in enumerate(items):
        lead = before + sample(items[:place])
        if op in REPEATS:
            if value[1] is names.MAXREPEAT or value[1] > BOUND:
                single = len(value[2]) == 1 and value[2][0][0] in (names.NOT_LITERAL, names.ANY, names.IN)
                if single:
                    yield from ((lead, char) for char in " a0.-_,:\"'=/#[(@" if fits(*value[2][0], char))
                yield lead, sample(value[2])
                yield "", lead + sample(value[2])
            yield from attacks(value[2], lead)
        elif op is names.SUBPATTERN:
            yield from attacks(value[3], lead)
        elif op is names.BRANCH:
            for branch in value[1]:
                yield from attacks(branch, lead)
        elif op in (names.ASSERT, names.ASSERT_NOT):
            yield from attacks(value[1], lead)


def slow_on(expression: Expression) -> str:
    """Return an attack that takes too long; empty if there is none."""
    parsed = parser.parse(text_of(expression.pattern), expression.flags & re.VERBOSE)
    compiled = re.compile(text_of(expression.pattern), (expression.flags & ~re.UNICODE) | re.ASCII)
    for before, piece in sorted(set(attacks(parsed))):
        for end in ("\0", '"'):
            text = before + piece * (LENGTH // max(1, len(piece))) + end
            for use in expression.uses & {"match", "fullmatch"} or {"findall"}:
                if takes_long(getattr(compiled, use), text):
                    return f"{before!r} + {piece!r} * n + {end!r}"
    return ""


def text_of(pattern: Any) -> str:
    """Return a pattern as text; bytes are the characters of their codes."""
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


class TooSlowError(Exception):
    """The limit was reached."""


def takes_long(use, text: str) -> bool:
    """Tell whether matching takes more processor time than the limit, at which it is ended."""

    def end(*_):
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        use(text)
    except TooSlowError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return False


def test_no_text_takes_more_than_linear_time():
    found = {expression.where: slow_on(expression) for expression in expressions()}
    assert len(found) > 150
    assert {where: attack for where, attack in found.items() if attack} == {}
