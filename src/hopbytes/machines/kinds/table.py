"""Machines given by a dense table of distances, for hardware that no other kind describes."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen, own
from hopbytes.errors import FormatError
from hopbytes.machines.base import Level, Machine, machines
from hopbytes.machines.distances import TableDistance
from hopbytes.machines.tree import MAX_DISTANCE, bad, shorten
from hopbytes.text.lines import integer_in, read_lines

MAX_PLACES = 2**12  # 2**24 distances, 128 MiB
MAX_TREE_LEVELS = 64
MAX_LINE = MAX_PLACES * 21


@machines.register("table")
@frozen(eq=False, owns=("table",))
class Table(Machine):
    """Distances of k leaves as a k x k table; all leaves belong to one host and levels have no names.

    The diagonal is the distance of a leaf to itself, usually 0; it is the cost per unit of volume between
    tasks of one leaf, and of a task to itself (as in quadratic assignment problems).

    An asymmetric table is kept as it is: the distance of an arc i → j is ``table[p(i), p(j)]``. Searches that
    need one distance per pair take the sum of both directions, and so does :meth:`split`.

    >>> line = Table(np.abs(np.subtract.outer(range(4), range(4))))
    >>> [part.tolist() for part in line.split(np.arange(4))]
    [[0, 1], [2, 3]]
    """

    table: Int64  # int64[k, k]: distances >= 0, k from 1 to 4096
    path: str = ""  # the file it came from

    def __post_init__(self) -> None:
        table = self.table
        where = self.path or "table"
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not 1 <= len(table) <= MAX_PLACES:
            what = f"a table of shape {table.shape}, expected k x k with k from 1 to {MAX_PLACES}"
            raise FormatError(where, None, what)
        if not np.issubdtype(table.dtype, np.integer):
            raise FormatError(where, None, f"a table of {table.dtype}, expected integers")
        wrong = (table < 0) | (table > MAX_DISTANCE)
        if wrong.any():
            row, column = map(int, np.argwhere(wrong)[0])
            what = f"distance {table[row, column]} from {row} to {column}"
            raise FormatError(where, None, f"{what}, expected an integer from 0 to 2**62")
        object.__setattr__(self, "table", own(np.ascontiguousarray(table, np.int64)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash(self.table.tobytes())

    @classmethod
    def parse(cls, text: str) -> Table:
        if not text:
            raise bad("table: without a file name, expected table:FILE")
        return cls(own(read_table(text)), text)

    @property
    def topology(self) -> Table:
        return self

    @property
    def n_cores(self) -> int:
        return len(self.table)

    @property
    def levels(self) -> tuple[Level, ...]:
        return ()

    def spec(self) -> str:
        return f"table:{self.path}"

    def distance(self) -> TableDistance:
        return TableDistance(self.table)

    def ancestors(self, level: int) -> Int32:
        raise IndexError(f"a table has no level {level}")

    def split(self, cores: Int64) -> list[Int64]:
        if len(cores) < 2:
            return [cores]
        return parts_of(cores, split_by_distance(self._both_directions(cores)))

    def groups(self, cores: Int64) -> list[Int32]:
        """Cut down to single places; the table of a tree gives the groupings of that tree.

        O(k^2 x distinct distances) for tables of trees, else O(k^2) per grouping.
        """
        both = self._both_directions(cores)
        bounds = np.unique(both[~np.eye(len(cores), dtype=bool)])[::-1]
        if len(bounds) > MAX_TREE_LEVELS:
            return Machine.groups(self, cores)
        found: list[Int32] = []
        parents = np.zeros(len(cores), np.int64)
        for bound in bounds.tolist():
            clusters = clusters_below(both, bound)
            if clusters is None:
                return Machine.groups(self, cores)
            # Clusters are numbered by their first place; the parts of a group must have consecutive numbers.
            pairs = parents * len(cores) + clusters
            parents = np.unique(pairs, return_inverse=True)[1]
            if int(parents.max()) > (int(found[-1].max()) if found else 0):
                found.append(parents.astype(np.int32))
        return found or [np.zeros(1, np.int32)]

    def _both_directions(self, cores: Int64) -> Int64:
        part = self.table[np.ix_(cores, cores)]
        # The sum of both directions where it fits; halves only for distances of 2**62.
        both: Int64 = part + part.T if int(part.max()) < MAX_DISTANCE else part // 2 + part.T // 2
        np.fill_diagonal(both, 0)
        return both


def parts_of(items: Int64, part: Int64) -> list[Int64]:
    """Return the items of every part, in the order of the parts."""
    return [items[part == number] for number in range(int(part.max()) + 1)]


def split_by_distance(distance: Int64) -> Int64:
    """Return the part of each place of which nothing but the distances is known.

    If the places fall apart into clusters that all keep the largest distance from each other (the table of
    a tree does), those are the parts. Otherwise two parts, none below a quarter of the places. Ties go to
    lower numbers.
    """
    own = np.array(distance, np.int64)
    np.fill_diagonal(own, 0)
    clusters = clusters_below(own, int(own.max()))
    if clusters is None or int(clusters.max()) == 0:
        clusters = two_halves(own)
    # A single part is left where all places are at distance 0.
    return clusters if int(clusters.max()) else np.arange(len(own), dtype=np.int64)


def clusters_below(distance: Int64, bound: int) -> Int64 | None:
    """Return the cluster of each place if "nearer than `bound`" is an equivalence, None otherwise."""
    near = distance < bound
    np.fill_diagonal(near, True)
    leader = near.argmax(axis=1)  # the first place each is near to
    if not np.array_equal(near, leader[:, None] == leader[None, :]):
        return None
    clusters: Int64 = np.unique(leader, return_inverse=True)[1]
    return clusters


def two_halves(distance: Int64) -> Int64:
    """Return 0 or 1 for each place, two compact and rather even halves.

    Candidates: `one` and `other` are the ends of a long diagonal, `side` is far from both; places are
    ordered by how much nearer they are to the first of (one, other), (one, side) or (other, side),
    and cut evenly and at the widest gap between the first and the last quarter. On a mesh the
    diagonal gives a slanted cut and the sides give straight ones. The cut with the largest energy
    distance between its halves wins.
    """
    one = int(distance[int(distance[0].argmax())].argmax())
    other = int(distance[one].argmax())
    side = int(np.minimum(distance[one], distance[other]).argmax())
    k = len(distance)
    best, best_energy = np.arange(k) >= k // 2, -np.inf
    for left, right in ((one, other), (one, side), (other, side)):
        lean = distance[left] - distance[right]
        order = np.argsort(lean, kind="stable")
        for cut in {k // 2: None, _widest_gap(lean[order]): None}:
            half = np.zeros(k, bool)
            half[order[cut:]] = True
            energy = _energy(distance, half)
            if energy > best_energy:
                best, best_energy = half, energy
    halves: Int64 = (best != best[0]).astype(np.int64)
    return halves


def _widest_gap(values: Int64) -> int:
    """Return where to cut ascending values in two: the widest gap of the middle, the evenest of equals."""
    k = len(values)
    cuts = np.arange(max(1, k // 4), k - max(1, k // 4) + 1)
    gaps = values[cuts] - values[cuts - 1]
    return int(cuts[np.lexsort((cuts, np.abs(2 * cuts - k), -gaps))[0]])


def _energy(distance: Int64, half: Bool) -> float:
    """Return the energy distance of two halves, weighted by their sizes as in the criterion of Ward."""
    within = distance[~half].sum(axis=0, dtype=np.float64)  # distance sums to the first half
    total = distance.sum(axis=0, dtype=np.float64)
    a, b = int((~half).sum()), int(half.sum())
    cross = within[half].sum()
    inner_a, inner_b = within[~half].sum(), (total - within)[half].sum()
    return float(2 * cross / (a * b) - inner_a / a**2 - inner_b / b**2) * a * b / (a + b)


def read_table(path: str) -> Int64:
    """Read a square matrix of integers as text: one row a line, blanks or commas between numbers.

    Empty lines and lines beginning with ``#`` or ``%`` are skipped.
    """
    rows: list[Int64] = []
    width = 0
    for number, line in enumerate(read_lines(path, longest=MAX_LINE), start=1):
        words = [] if line.lstrip().startswith(("#", "%")) else line.replace(",", " ").split()
        if not words:
            continue
        width = width or len(words)
        if len(words) != width or len(words) > MAX_PLACES:
            expected = f"at most {MAX_PLACES}" if len(words) > MAX_PLACES else f"{width} as above"
            raise FormatError(path, number, f"{len(words)} numbers, expected {expected}")
        if len(rows) == width:
            raise FormatError(path, number, f"row {width + 1}, expected {width}: as many as columns")
        for word in words:
            if integer_in(word, 0, MAX_DISTANCE) is None:
                raise FormatError(path, number, f"{shorten(word)}, expected an integer from 0 to 2**62")
        rows.append(np.array([int(word) for word in words], np.int64))
    if len(rows) != width or not rows:
        raise FormatError(path, None, f"{len(rows)} rows of {width} numbers, expected a square matrix")
    return np.stack(rows)
