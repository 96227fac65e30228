"""Which adapters belong to which host, and which of them tasks use."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.fabrics.ibnetdiscover import Device
from hopbytes.text.hostlist import HOST_NAME, expand_hosts
from hopbytes.text.lines import natural_key, read_lines

#: Descriptions that drivers give until the host has set its own name: they name no host.
NAMELESS = re.compile(
    r"MT[0-9]+ .*(?:Mellanox|ConnectX|Connect-IB|InfiniHost).*|(?:Mellanox|NVIDIA|QLogic|Intel) .*"
    r"|(?:localhost(?:\.localdomain)?|\(none\))(?: .*)?",
    re.ASCII,
)
MAP_LINE = re.compile(
    r'(?P<guid>0x[0-9a-fA-F]{1,16})\s+(?!\s)(?:"(?P<quoted>[^"]*)"|(?P<plain>[^"#]*?))(?<!\s)\s*(?:#.*)?',
    re.ASCII,
)


@frozen
class Host:
    """A host and its adapter ports."""

    name: str  # first word of the node description; ``guid-0123456789abcdef`` when that names no host
    adapters: tuple[int, ...]  # numbers of its adapter ports, in the natural order of their names
    #: rest of the node descriptions: ``mlx5_0``, ``HCA-1``; with ``/2`` for a second port
    adapter_names: tuple[str, ...]
    named: bool = True  # false when the name had to be made from the GUID


def read_node_name_map(path: str) -> dict[int, str]:
    """Read a file that names GUIDs: lines ``0x0002c90200493108 "host mlx5_0"``, comments after ``#``."""
    names: dict[int, str] = {}
    for number, text in enumerate(read_lines(path, 2**28), start=1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        found = MAP_LINE.fullmatch(line)
        name = (found["quoted"] or found["plain"] or "").strip() if found else ""
        if found is None or not name:
            what = f'{line[:40]!r}, expected a GUID and a name like 0x2c90200493108 "n1"'
            raise FormatError(path, number, what)
        guid = int(found["guid"], 16)
        if guid in names:
            raise FormatError(path, number, f"GUID {found['guid']} a second time, expected one name for each")
        names[guid] = name
    return names


def group_hosts(
    adapters: Sequence[Device], names: Mapping[int, str] | None = None, wanted: str | None = None
) -> tuple[Host, ...]:
    """Group adapter ports by the host their description names."""
    found: dict[tuple[bool, str], list[tuple[str, int]]] = {}
    for number, adapter in enumerate(adapters):
        named, host, name = _names(adapter, names or {})
        found.setdefault((not named, host), []).append((name, number))
    takes = _filter(wanted)
    hosts = []
    for nameless, host in sorted(found, key=lambda key: (key[0], natural_key(key[1]))):
        ports = [port for port in found[nameless, host] if takes(port[0])]
        ports.sort(key=lambda port: (natural_key(port[0]), port[1]))
        if ports:
            numbers, labels = zip(*((number, name) for name, number in ports), strict=True)
            hosts.append(Host(host, numbers, labels, not nameless))
    if not hosts:
        known = sorted({name for ports in found.values() for name, _ in ports}, key=natural_key)
        what = f"{wanted!r} fits no adapter (there are {', '.join(known[:6])})"
        raise FormatError("`adapters`", None, what)
    return tuple(hosts)


def _names(adapter: Device, names: Mapping[int, str]) -> tuple[bool, str, str]:
    """Return whether a host is named, its name and that of the adapter."""
    description = names.get(adapter.guid) or names.get(adapter.node_guid) or adapter.name
    host, _, rest = description.strip().partition(" ")
    port = f"/{adapter.port}" if adapter.port > 1 else ""
    if not HOST_NAME.fullmatch(host) or NAMELESS.fullmatch(description.strip()):
        guid = adapter.node_guid or adapter.guid
        return False, f"guid-{guid:016x}" if guid else f"nameless-{adapter.key}", "HCA-1" + port
    return True, host, (rest.strip() or "HCA-1") + port


def _filter(text: str | None) -> Callable[[str], bool]:
    """Return what tells whether an adapter is wanted, by its name with or without the port."""
    names: set[str] = set()
    patterns: list[str] = []
    for word in re.findall(r"(?:\[[^\[\]]*\]|[^,])+", "*" if text is None else text):  # but in brackets
        if set("*?/") & set(word):
            patterns.append(word.strip())
        elif word.strip():
            names.update(expand_hosts(word, "`adapters`"))

    def takes(name: str) -> bool:
        known = name.partition("/")[0] in names
        return known or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    return takes
