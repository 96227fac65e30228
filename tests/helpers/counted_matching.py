"""Regular expressions matched step by step, as Python's own engine does, so that the steps can be counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator

if sys.version_info >= (3, 11):
    from re import _constants as names
    from re import _parser as parser
else:
    import sre_constants as names
    import sre_parse as parser

WORDS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
CATEGORIES = {
    names.CATEGORY_DIGIT: set("0123456789"), names.CATEGORY_SPACE: set(" \t\n\r\f\v"),
    names.CATEGORY_WORD: WORDS,
}  # fmt: skip
OPPOSITES = {
    names.CATEGORY_NOT_DIGIT: names.CATEGORY_DIGIT, names.CATEGORY_NOT_SPACE: names.CATEGORY_SPACE,
    names.CATEGORY_NOT_WORD: names.CATEGORY_WORD,
}  # fmt: skip
REPEATS = tuple(
    getattr(names, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(names, name)
)
#: Repeats up to this number count as bounded.
BOUND = 1024
#: Bounded repeats are made as short as this, so that what they cost does not depend on the length of texts.
FEW, MOST = 6, 64
ALPHABET = [chr(code) for code in range(128)]


class TooManyStepsError(Exception):
    """The limit of steps was reached."""


def parse(pattern, flags=0):
    """Return the parsed expression; bytes are read as the characters of their codes."""
    return parser.parse(pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern, flags)


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
        elif what in CATEGORIES:
            found |= char in CATEGORIES[what]
        else:
            found |= char not in CATEGORIES[OPPOSITES[what]]
    return found != negated


class Program:
    """An expression as instructions for a machine that goes back where an alternative fails, like Python's.

    Instructions are tuples: ``char`` takes a character, ``split`` tries two places in order, ``jump`` goes to
    one, ``at`` and ``look`` take none, ``mark`` and ``moved`` refuse turns of a loop that take no character.
    """

    def __init__(self, parsed):
        self.code = []
        self.loops = 0
        self.add(parsed)
        self.code.append(("end",))

    def add(self, items):
        for op, value in items:
            if op in (names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN):
                self.code.append(("char", op, value))
            elif op is names.SUBPATTERN:
                self.add(value[3])
            elif op is names.BRANCH:
                self.branches([*value[1]])
            elif op is names.GROUPREF_EXISTS:
                self.branches([branch for branch in value[1:] if branch is not None] + [[]])
            elif op in REPEATS:
                self.repeat(op is names.MIN_REPEAT, *value)
            elif op is names.AT:
                self.code.append(("at", value))
            elif op in (names.ASSERT, names.ASSERT_NOT):
                width = value[1].getwidth()[0] if value[0] < 0 else 0
                self.code.append(("look", op is names.ASSERT, width, Program(value[1])))
            else:
                raise NotImplementedError(op)

    def branches(self, branches):
        jumps = []
        for branch in branches[:-1]:
            split = len(self.code)
            self.code.append(None)
            self.add(branch)
            jumps.append(len(self.code))
            self.code.append(None)
            self.code[split] = ("split", split + 1, len(self.code))
        self.add(branches[-1])
        for jump in jumps:
            self.code[jump] = ("jump", len(self.code))

    def repeat(self, lazy, low, high, inside):
        for _ in range(min(low, MOST)):
            self.add(inside)
        if high is not names.MAXREPEAT and high <= BOUND:
            splits = []
            for _ in range(min(high, max(low, FEW)) - min(low, MOST)):
                splits.append(len(self.code))
                self.code.append(None)
                self.add(inside)
            for split in splits:
                self.code[split] = self.split(lazy, split + 1, len(self.code))
            return
        self.loops += 1
        loop, split = self.loops, len(self.code)
        self.code.append(None)
        self.code.append(("mark", loop))
        self.add(inside)
        self.code.append(("moved", loop))
        self.code.append(("jump", split))
        self.code[split] = self.split(lazy, split + 1, len(self.code))

    @staticmethod
    def split(lazy, inside, behind):
        return ("split", behind, inside) if lazy else ("split", inside, behind)

    def run(self, text, start, *, whole=False, limit=10**6):
        """Return (the end of a match or -1, steps); TooManyStepsError beyond the limit."""
        taken = 0
        waiting = [(0, start, {})]
        while waiting:
            place, at, marks = waiting.pop()
            while True:
                taken += 1
                if taken > limit:
                    raise TooManyStepsError
                what, *rest = self.code[place]
                if what == "end":
                    if not whole or at == len(text):
                        return at, taken
                    break
                if what == "char":
                    if at == len(text) or not fits(*rest, text[at]):
                        break
                    at += 1
                elif what == "split":
                    waiting.append((rest[1], at, marks))
                    place = rest[0]
                    continue
                elif what == "jump":
                    place = rest[0]
                    continue
                elif what == "mark":
                    marks = {**marks, rest[0]: at}
                elif what == "moved":
                    if marks[rest[0]] == at:
                        break
                elif what == "at":
                    if not _holds(rest[0], text, at):
                        break
                else:
                    wanted, width, program = rest
                    found = -1
                    if at >= width:
                        found, more = program.run(text, at - width, limit=limit)
                        taken += more
                    if (found >= 0) != wanted:
                        break
                place += 1
        return -1, taken


def _holds(kind, text, at):
    if kind in (names.AT_BEGINNING, names.AT_BEGINNING_STRING):
        return at == 0 or (kind is names.AT_BEGINNING and text[at - 1] == "\n")
    if kind in (names.AT_END, names.AT_END_STRING):
        return at == len(text) or (kind is names.AT_END and text[at] == "\n")
    before, after = at > 0 and text[at - 1] in WORDS, at < len(text) and text[at] in WORDS
    return (before != after) == (kind is names.AT_BOUNDARY)


def steps(program, text, *, search, whole, limit):
    """Return the number of steps of an attempt; `search` tries every place until one matches."""
    taken = 0
    for start in range(len(text) + 1 if search else 1):
        found, more = program.run(text, start, whole=whole, limit=limit)
        taken += more
        if taken > limit:
            raise TooManyStepsError
        if found >= 0:
            break
    return taken


def sample(items, *, most=1):
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
            text += sample(value[2]) * min(max(value[0], min(most, value[1])), MOST)
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
