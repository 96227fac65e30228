"""Fields of specs: sizes, ``key=value``, the distance per hop; path and options of machines from files."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import Machine
from hopbytes.machines.tree import MAX_CORES, MAX_DISTANCE, bad, shorten
from hopbytes.text.hostlist import expand_hosts
from hopbytes.text.lines import integer_in

#: ``@10`` at the end is a distance, ``@n[1-4]`` the hosts to keep.
AT_END = re.compile(r"@([^@/]*)$", re.ASCII)
DISTANCE = re.compile(r"[0-9]{1,13}", re.ASCII)
#: Options about adapters that users may also give apart from the spec.
OPTION_OF_KEY = {"rails": "`rails`", "adapters": "`adapters`", "names": "`node_name_map`"}


class NetworkSpec:
    """What follows ``kind:`` in the spec of a network: sizes, ``key=value`` fields, the distance per hop."""

    def __init__(self, kind: str, text: str, keys: Mapping[str, str]) -> None:
        self.kind = kind
        self.per_hop: int | None = None
        words: list[str] = []
        for word in text.split(":"):
            value, at, number = word.partition("@")
            if at:
                if self.per_hop is not None or not number.isdigit() or len(number) > 19:
                    what = f"{shorten('@' + number)}, expected one integer >= 0"
                    raise bad(f"{shorten(kind + ':' + text)}: {what}")
                self.per_hop = int(number)
            words.append(value)
        self.head, self.found = words[0], dict[str, str]()
        for word in words[1:]:
            key, equals, value = word.partition("=")
            if not equals or key not in keys or key in self.found:
                what = f"{shorten(word)}, expected each at most once: {_examples(keys)}"
                raise bad(f"{shorten(kind + ':' + text)}: {what}")
            self.found[key] = value

    def word(self, key: str, default: str) -> str:
        return self.found.get(key, default)

    def sizes(self, expected: str = "") -> tuple[int, ...]:
        """Read ``17x8x24``, as many sizes as the example `expected` has; integers >= 1, not too large."""
        sizes = []
        for word in self.head.split("x"):
            if not (word.isascii() and word.isdigit()) or len(word) > 9 or int(word) < 1:
                what = f"{shorten(word)} in {shorten(self.head)}, expected integers >= 1 like 16x12x8"
                raise bad(f"{self.kind}: {what}")
            sizes.append(int(word))
        if len(sizes) > 16 or math.prod(sizes) > MAX_CORES:
            raise bad(f"{self.kind}: {shorten(self.head)}, expected at most 16 sizes and {MAX_CORES} in all")
        if expected and len(sizes) != expected.partition(" ")[0].count("x") + 1:
            raise bad(f"{self.kind}: {shorten(self.head)}, expected {expected}")
        return tuple(sizes)

    def number(self, key: str, default: int, least: int = 1, most: int = MAX_DISTANCE) -> int:
        return number_of(self.kind, key, self.found[key], least, most) if key in self.found else default

    def numbers(self, key: str) -> tuple[int, ...]:
        """Read the integers of a field, as in ``1x3x2``; none without the field."""
        words = self.found[key].split("x") if key in self.found else ()
        return tuple(number_of(self.kind, key, word) for word in words)

    def bandwidth(self, count: int, expected: str) -> tuple[int, ...]:
        """Read ``bw=``: one capacity for all of `count` sorts of links, or one for each; 1 without it."""
        widths = self.numbers("bw") or (1,)
        if len(widths) not in (1, count):
            raise bad(f"{self.kind}: bw={shorten(self.found['bw'])}, expected {expected}")
        return widths * count if len(widths) == 1 else widths


def _examples(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={example}" for name, example in keys.items())


def number_of(kind: str, key: str, text: str, least: int = 1, most: int = MAX_DISTANCE) -> int:
    """Read one integer from `least` to `most`; 12.5e9 is one too."""
    power = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?e[0-9]{1,2}", text, re.ASCII)
    whole = str(int(float(text))) if power and float(text).is_integer() else text
    value = integer_in(whole, least, most)
    if value is None:
        raise bad(f"{kind}: {key}={shorten(text)}, expected an integer from {least} to {most}")
    return value


def check_choice(field: str, word: str, known: Sequence[str]) -> None:
    """Refuse a word that is none of those a field may have."""
    if word not in known:
        raise bad(f"{field}={shorten(word)}, expected one of {', '.join(known)}")


def changed_fields(*fields: tuple[str, object, object]) -> str:
    """Write ``:key=value`` for each (key, value, default) whose value is not the default one."""
    return "".join(f":{key}={value}" for key, value, default in fields if value != default)


def shortest(numbers: Sequence[int]) -> str:
    """Write capacities, those that are all equal as a single number."""
    return str(numbers[0]) if len(set(numbers)) == 1 else joined(numbers)


def joined(numbers: Iterable[object]) -> str:
    """Write sizes as ``17x8x24``."""
    return "x".join(map(str, numbers))


@frozen
class FileSpec:
    """What follows ``kind:`` in the spec of a machine that is read from a file."""

    path: str
    options: Mapping[str, str]  # ``key=value`` fields
    per_hop: int | None = None  # what stood behind ``@``, when it was a number
    #: fields with other keys, where the kind takes distances of its levels
    levels: Mapping[str, str] = field(default_factory=dict)

    def text(self, kind: str) -> str:
        """Return the spec again, without the distance."""
        return ":".join([kind, self.path, *(f"{key}={value}" for key, value in self.options.items())])


def file_spec(kind: str, text: str, keys: Mapping[str, str]) -> FileSpec:
    """Take ``PATH[:key=value…][@hosts or @distance]`` apart, from the right: paths may hold colons."""
    options: dict[str, str] = {}
    per_hop: int | None = None

    def store(key: str, value: str) -> None:
        if (key not in keys and "LEVEL" not in keys) or key in options or not key or not value:
            what = f"{shorten(f'{key}={value}')}, expected each once: {_examples(keys)}"
            raise bad(f"{kind}:{shorten(text)}: {what}")
        options[key] = value

    rest = text
    while True:
        at = AT_END.search(rest)
        head, colon, last = rest.rpartition(":")
        key, equals, value = last.partition("=")
        if at is not None and (not colon or at.start() > len(head)) and not (equals and "@" not in value):
            if not DISTANCE.fullmatch(at[1]):
                store("hosts", at[1])
            elif per_hop is not None:
                raise bad(f"{kind}:{shorten(text)}: two distances, expected one")
            else:
                per_hop = int(at[1])
            rest = rest[: at.start()]
        elif colon and equals and "/" not in key:
            store(key, value)
            rest = head
        else:
            start = max((rest.rfind(f":{name}=") for name in keys), default=-1)
            if start < 1:
                break
            key, _, value = rest[start + 1 :].partition("=")  # a value with colons, as names of subnets have
            store(key, value)
            rest = rest[:start]
    if not rest:
        known = "".join(f"[:{name}={example}]" for name, example in keys.items())
        raise bad(f"{kind}: without a path, expected {kind}:PATH{known}")
    ordered = {key: options.pop(key) for key in keys if key in options}
    return FileSpec(rest, ordered, per_hop, options)


def wanted_hosts(wanted: str | None, known: Collection[str], where: str) -> set[str]:
    """Return the hosts that ``hosts=`` keeps, all without it; FormatError for hosts that are not `known`."""
    chosen = set(known if wanted is None else expand_hosts(wanted))
    missing = sorted(chosen.difference(known))
    if missing:
        what = f"{len(missing)} hosts are not in {where} ({', '.join(missing[:3])})"
        raise FormatError("`hosts`", None, what)
    return chosen


def with_options(spec: str | Machine | None, options: Mapping[str, str | None]) -> str | Machine | None:
    """Put options about adapters into the spec of a fabric."""
    given = {key: value for key, value in options.items() if value is not None}
    if not given:
        return spec
    network, slash, inside = (spec if isinstance(spec, str) else "").partition(" / ")
    if network.partition(":")[0] != "ib":
        words = ", ".join(OPTION_OF_KEY[key] for key in given)
        raise UnsupportedError(f"{words} needs a fabric whose hosts have adapters: ib:DIR")
    fields = "".join(f":{key}={value}" for key, value in given.items())
    return f"{network.rstrip()}{fields}{slash}{inside}"
