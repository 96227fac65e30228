"""Switches above hosts as configuration files name them, and the tree of levels they make."""

from __future__ import annotations

from dataclasses import dataclass, field

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.text.lines import some_of

#: Switches, and hosts, that a file may name.
MAX_SWITCHES = 2**20
MAX_HEIGHT = 60


@dataclass(slots=True)
class Switch:
    """A switch (or block of nodes) with the units below it; `kind` names the level of such units."""

    name: str
    line: int | None
    switches: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    kind: str = ""


@frozen
class LeveledTree:
    """A switch tree with every host at the same depth."""

    levels: tuple[str, ...]  # names of levels, outermost first; the last is ``node``
    counts: tuple[tuple[int, ...], ...]  # per level and unit of the level outside it: how many units
    hosts: tuple[str, ...]  # in the order of the tree
    notices: tuple[str, ...] = ()  # sentences for the user


@dataclass(slots=True)
class SwitchTree:
    """Switches by name, in the order of the file."""

    path: str  # for messages
    switches: dict[str, Switch] = field(default_factory=dict)
    #: names to give to the levels from the innermost switches outwards; ``switch2``, … beyond them
    level_names: tuple[str, ...] = ("leaf",)
    notices: list[str] = field(default_factory=list)  # sentences of the reader for the user

    def add(self, switch: Switch) -> None:
        if switch.name in self.switches:
            first = self.switches[switch.name].line
            at = f", first at line {first}" if first else ""
            raise FormatError(self.path, switch.line, f"switch {switch.name!r} a second time{at}")
        if len(self.switches) >= MAX_SWITCHES:
            raise FormatError(self.path, switch.line, f"more than {MAX_SWITCHES} switches")
        self.switches[switch.name] = switch

    def leveled(self) -> LeveledTree:
        """Give every host the same depth: a switch missing between two others is a level of one unit.

        A switch is as many levels above the hosts as its longest path down has. Trees without a common
        root get one. Levels in which every unit has one child are left out. A host at several switches
        counts at the first. Switches above the same switches are one. O(switches x levels + hosts).
        """
        self._join_spines()
        parents = self._parents()
        heights = self._heights(parents)
        several, hosts_of = self._hosts()
        notices = [*self.notices, *several]
        alive = self._with_hosts(parents, hosts_of)
        if not alive:
            raise FormatError(self.path, None, "no node below any switch, expected at least one")
        empty = len(self.switches) - len(alive)
        if empty:
            notices.append(f"{empty} of {len(self.switches)} switches have no node below them: left out")
        units = [name for name in self.switches if name in alive and name not in parents]
        rows: list[tuple[int, ...]] = [(len(units),)]
        names = [tuple(units)]
        if len(units) > 1:
            notices.append(f"{len(units)} switches have nothing above them: a common root is assumed")
        top = max(heights[name] for name in units)
        for height in range(top, 0, -1):
            row, below = [], []
            for name in units:
                inside = [name]
                if heights[name] == height:
                    inside = [child for child in self.switches[name].switches if child in alive]
                row.append(len(inside))
                below += inside
            rows.append(tuple(row))
            names.append(tuple(below))
            units = below
        hosts = [host for name in units for host in hosts_of[name]]
        rows.append(tuple(len(hosts_of[name]) for name in units))
        # A unit of a smaller height also represents the units that are missing above it.
        own = [[n for n in units if heights[n] == top - level] for level, units in enumerate(names)]
        kinds = [{self.switches[name].kind for name in units} for units in own]
        return self._named(rows, kinds, hosts, notices)

    def _named(
        self, rows: list[tuple[int, ...]], kinds: list[set[str]], hosts: list[str], notices: list[str]
    ) -> LeveledTree:
        inner = len(rows) - 1  # the row of hosts
        kept = [level for level in range(inner) if max(rows[level]) > 1]
        labels = []
        for level in kept:
            outwards = inner - 1 - level
            known = outwards < len(self.level_names)
            number = outwards - len(self.level_names) + 2  # leaves are switches of level 1
            kind = next(iter(kinds[level])) if len(kinds[level]) == 1 else ""
            usual = self.level_names[outwards] if known else f"switch{number}"
            labels.append(kind if kind and kind not in labels else usual)
        counts = (*(rows[level] for level in kept), rows[inner])
        return LeveledTree((*labels, "node"), counts, tuple(hosts), tuple(notices))

    def _join_spines(self) -> None:
        """Make switches above the same switches one, or above some of those that another one is above.

        Any two switches below them have the largest in common, so that no distance changes. From the leaves
        up, since cores above different spines of the same groups become alike then.
        """
        joined: dict[str, str] = {}
        for _ in range(MAX_HEIGHT):
            above: dict[str, list[str]] = {}
            for name, switch in self.switches.items():
                switch.switches = list(dict.fromkeys(_end_of(joined, child) for child in switch.switches))
                for child in switch.switches if name not in joined else ():
                    above.setdefault(child, []).append(name)
            found: dict[str, str] = {}
            for parents in above.values():
                others = [name for name in parents if name not in found]
                if len(others) > 1:
                    largest = max(others, key=lambda name: len(self.switches[name].switches))
                    inside = set(self.switches[largest].switches)
                    fit = [n for n in others if n != largest and inside.issuperset(self.switches[n].switches)]
                    found |= dict.fromkeys(fit, largest)
            if not found:
                break
            joined |= found
        if joined:
            ends = {_end_of(joined, name) for name in joined}
            some = [name for name in self.switches if name in joined or name in ends]
            self.switches = {name: switch for name, switch in self.switches.items() if name not in joined}
            self.notices.append(f"switches above the same switches are one: {some_of(some, 4)}")

    def _parents(self) -> dict[str, str]:
        parents: dict[str, str] = {}
        for switch in self.switches.values():
            for child in switch.switches:
                if child not in self.switches:
                    raise FormatError(
                        self.path, switch.line, f"switch {child!r} below {switch.name!r} is never described"
                    )
                if child in parents:
                    what = f"switch {child!r} below {switch.name!r} and {parents[child]!r}, expected one"
                    raise FormatError(self.path, switch.line, what)
                parents[child] = switch.name
        return parents

    def _heights(self, parents: dict[str, str]) -> dict[str, int]:
        """Levels between each switch and the hosts, found from the leaves up."""
        open_children = {name: len(switch.switches) for name, switch in self.switches.items()}
        heights = dict.fromkeys((name for name, count in open_children.items() if not count), 0)
        ready = list(heights)
        for name in ready:  # grows while it runs
            parent = parents.get(name)
            if parent is not None:
                open_children[parent] -= 1
                heights[parent] = max(heights.get(parent, 0), heights[name] + 1)
                if not open_children[parent]:
                    ready.append(parent)
        if len(ready) < len(self.switches):
            name = next(name for name, count in open_children.items() if count)
            raise FormatError(self.path, self.switches[name].line, f"switch {name!r} is below itself")
        if max(heights.values(), default=0) > MAX_HEIGHT:
            raise FormatError(self.path, None, f"more than {MAX_HEIGHT} levels of switches")
        return heights

    def _hosts(self) -> tuple[list[str], dict[str, list[str]]]:
        """Return notices, and the hosts of each switch, each host once."""
        place: dict[str, str] = {}
        several: list[str] = []
        hosts_of: dict[str, list[str]] = {}
        for switch in self.switches.values():
            hosts_of[switch.name] = []
            for host in switch.hosts:
                if host in place:
                    several.append(host)
                else:
                    place[host] = switch.name
                    hosts_of[switch.name].append(host)
        if not several:
            return [], hosts_of
        text = ", ".join(f"{host} (counted at {place[host]})" for host in several[:3])
        return [f"{len(several)} nodes are named more than once: {text}"], hosts_of

    def _with_hosts(self, parents: dict[str, str], hosts_of: dict[str, list[str]]) -> set[str]:
        alive: set[str] = set()
        for name, hosts in hosts_of.items():
            above: str | None = name if hosts else None
            while above is not None and above not in alive:
                alive.add(above)
                above = parents.get(above)
        return alive


def _end_of(joined: dict[str, str], name: str) -> str:
    while name in joined:
        name = joined[name]
    return name
