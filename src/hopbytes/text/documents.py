"""Untrusted XML, YAML and JSON: nothing external, bounded size and depth, errors with line numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.text.lines import integer_in, read_bytes
from hopbytes.text.open_input import open_stream

LARGEST_XML = 256 * 2**20
MAX_ELEMENTS = 2**20
DEEPEST_XML = 200


@dataclass(slots=True)
class Element:
    """An element: tag, attributes, line, text directly inside, elements inside."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def get(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default)

    def named(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)


def read_xml(path: str, *, root: str, max_bytes: int = LARGEST_XML) -> Element:
    """Read a small XML file (also compressed) into elements."""
    with open_stream(path, max_bytes=max_bytes) as opened:
        return parse_xml(opened.stream, path, root=root)


def parse_xml(stream: BufferedReader, where: str, *, root: str) -> Element:
    """Read XML from an open stream, as :func:`read_xml` does; `where` is for messages."""
    reader = _Reader(where, root)
    while chunk := stream.read(1 << 16):
        reader.feed(chunk, False)
    reader.feed(b"", True)
    assert reader.top is not None  # otherwise the parser would have raised an error
    return reader.top


class _Reader:
    """Builds elements from the events of expat."""

    def __init__(self, path: str, root: str) -> None:
        from xml.parsers import expat

        self.where, self.root = path, root
        self.top: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.failure = expat.ExpatError
        self.parser: Any = expat.ParserCreate("UTF-8")  # whatever encoding the file names
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.StartDoctypeDeclHandler = self.doctype
        for handler in ("EntityDeclHandler", "UnparsedEntityDeclHandler", "ExternalEntityRefHandler"):
            setattr(self.parser, handler, self.refuse)
        self.parser.SkippedEntityHandler = self.refuse

    def feed(self, chunk: bytes, last: bool) -> None:
        try:
            self.parser.Parse(chunk, last)
        except self.failure as error:
            from xml.parsers.expat import ErrorString

            what = "no content" if self.top is None and last else ErrorString(getattr(error, "code", 0))
            cut = " (the file ends in the middle)" if last and self.top is not None else ""
            line = getattr(error, "lineno", None)
            raise FormatError(self.where, line, f"not well-formed XML: {what}{cut}") from None

    def bad(self, what: str) -> FormatError:
        return FormatError(self.where, self.parser.CurrentLineNumber, what)

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise self.bad("a document type with declarations of its own, expected plain XML without any")

    def refuse(self, *arguments: object) -> None:
        raise self.bad("an entity, expected plain XML without any")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.bad(f"more than {MAX_ELEMENTS} elements, expected a smaller file")
        if len(self.open) >= DEEPEST_XML:
            raise self.bad(f"elements nested more than {DEEPEST_XML} deep")
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        elif tag != self.root:
            raise self.bad(f"<{tag[:40]}>, expected <{self.root}>")
        else:
            self.top = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        if not text.isspace():
            self.open[-1].text += text


LARGEST_YAML = 2**26
DEEPEST_YAML = 50


class Yaml:
    """A node of a YAML document that knows its file and line."""

    __slots__ = ("line", "path", "value")

    def __init__(self, path: str, line: int, value: Any) -> None:
        self.path, self.line, self.value = path, line, value

    def fail(self, what: str) -> FormatError:
        return FormatError(self.path, self.line, what)

    def mapping(self, what: str) -> dict[str, Yaml]:
        if not isinstance(self.value, dict):
            raise self.fail(f"{what} is {_kind(self.value)}, expected pairs key: value")
        return self.value

    def items(self, what: str) -> Iterator[Yaml]:
        if not isinstance(self.value, list):
            raise self.fail(f"{what} is {_kind(self.value)}, expected a list")
        return iter(self.value)

    def text(self, what: str) -> str:
        if not isinstance(self.value, str):
            raise self.fail(f"{what} is {_kind(self.value)}, expected a word")
        return self.value

    def integer(self, what: str, least: int = 1, most: int = 2**31 - 1) -> int:
        text = self.text(what)
        if integer_in(text, least, most) is None:
            raise self.fail(f"{what} is {text[:40]!r}, expected an integer from {least} to {most}")
        return int(text)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:40])
    return "a list" if isinstance(value, list) else "a mapping"


def read_yaml(path: str) -> Yaml:
    """Read the first document of a YAML file."""
    try:
        import yaml
    except ImportError:
        raise UnsupportedError(f"{path}: reading YAML needs PyYAML: pip install pyyaml") from None

    text = read_bytes(path, LARGEST_YAML).decode("utf-8", "replace")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Events first: the composer would follow aliases, and deep nesting would exhaust its stack.
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            at = event.start_mark.line + 1 if event.start_mark else None
            if isinstance(event, yaml.AliasEvent):
                raise FormatError(path, at, "an alias (*name), expected the text itself")
            if depth > DEEPEST_YAML:
                raise FormatError(path, at, f"more than {DEEPEST_YAML} levels of nesting")
        documents = yaml.compose_all(text, Loader=loader)
        node = next(iter(documents), None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "characters that YAML does not allow"
        raise FormatError(path, mark.line + 1 if mark else None, f"not YAML: {what}") from None
    if node is None:
        raise FormatError(path, None, "an empty document, expected some content")
    return _convert(path, node)


def _convert(path: str, node: Any) -> Yaml:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return Yaml(path, line, node.value)
    if isinstance(node, yaml.SequenceNode):
        return Yaml(path, line, [_convert(path, item) for item in node.value])
    pairs: dict[str, Yaml] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in pairs:
            raise FormatError(path, key.start_mark.line + 1, "a key that occurs twice or is not a word")
        pairs[key.value] = _convert(path, value)
    return Yaml(path, line, pairs)


def parse_json(data: bytes | str, name: str, what: str) -> Any:
    """Return what a JSON text holds."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise FormatError(name, error.lineno, f"not JSON ({error.msg}), expected {what}") from None
    except (ValueError, RecursionError):
        raise FormatError(name, None, f"damaged JSON, expected {what}") from None


def parse_object(data: bytes | str, name: str, what: str) -> dict[str, Any]:
    """Return the object that a JSON text holds."""
    content = parse_json(data, name, what)
    if not isinstance(content, dict):
        raise FormatError(name, None, f"a JSON {type(content).__name__}, expected {what}")
    return content


class Record:
    """The fields of a file that hopbytes stored; whoever asks for one says what it must be."""

    def __init__(self, data: bytes | str, name: str, kind: str, newest: int) -> None:
        self.name, stored = name, kind.replace("hopbytes", "a stored")
        self.fields = parse_object(data, name, stored)
        if self.fields.get("kind") != kind:
            raise self.fail(f'no "kind": "{kind}", expected {stored}')
        version = self.fields.get("version")
        if not isinstance(version, int) or version < 1:
            raise self.fail(f"version {str(version)[:20]}, expected {newest}")
        if version > newest:
            raise UnsupportedError(f"{name}: version {version}, expected at most version {newest}")

    def fail(self, what: str) -> FormatError:
        return FormatError(self.name, None, what)

    def integers(self, value: Any, name: str, least: int, most: int, dimensions: int = 1) -> Any:
        """Return a list, or a list of equally long lists, of integers in a range as an array."""
        import numpy as np

        try:
            array = np.array(value if isinstance(value, list) else None)
        except ValueError:  # rows of unequal length
            array = np.array(None)
        if array.ndim != dimensions or (array.size and array.dtype.kind != "i"):
            form = "list" if dimensions == 1 else "table"
            found = "missing" if value is None and name not in self.fields else json.dumps(value)[:60]
            raise self.fail(f"{name} is {found}, expected a {form} of integers")
        if array.size and not least <= int(array.min()) <= int(array.max()) <= most:
            raise self.fail(f"{name} has {array.min()} to {array.max()}, expected {least} to {most}")
        return array
