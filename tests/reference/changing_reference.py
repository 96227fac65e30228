"""Reference implementation of ``core/changing/arc_rows.hpp``, on the same arrays."""

from hopbytes._arrays import Int32, Int64

_Arrays = tuple[Int64, Int32, Int32, Int32, Int32, Int64, Int64]
_USED, _SCANNED, _FREE, _LEAST = 0, 1, 2, 4


class _Rows:
    """The rows of a symmetric graph, as ``ArcRows`` has them."""

    def __init__(self, arrays: _Arrays) -> None:
        self.start, self.count, self.space, self.target, self.opposite, self.weight, self.pool = arrays

    def find(self, u: int, v: int) -> int:
        swap = self.count[v] < self.count[u]
        row, to = (v, u) if swap else (u, v)
        for arc in range(int(self.start[row]), int(self.start[row] + self.count[row])):
            self.pool[_SCANNED] += 1
            if self.target[arc] == to:
                return int(self.start[u] + self.opposite[arc]) if swap else arc
        return -1

    def erase(self, u: int, arc: int) -> None:
        self.count[u] -= 1
        last = int(self.start[u] + self.count[u])
        if arc != last:
            for column in (self.target, self.weight, self.opposite):
                column[arc] = column[last]
            self.opposite[self.start[self.target[arc]] + self.opposite[arc]] = arc - self.start[u]

    def widen(self, u: int) -> bool:
        if self.count[u] < self.space[u]:
            return True
        size = 0 if self.space[u] == 0 else (int(self.space[u]) // _LEAST).bit_length()
        wanted, place = _LEAST << size, int(self.pool[_FREE + size])
        if place >= 0:
            self.pool[_FREE + size] = self.weight[place]
        elif self.pool[_USED] + wanted <= len(self.target):
            place = int(self.pool[_USED])
            self.pool[_USED] += wanted
        else:
            return False
        held, first = int(self.count[u]), int(self.start[u])
        for column in (self.target, self.opposite, self.weight):
            column[place : place + held] = column[first : first + held]
        self.pool[_SCANNED] += held
        if self.space[u] > 0:
            self.weight[first] = self.pool[_FREE + size - 1]
            self.pool[_FREE + size - 1] = first
        self.start[u], self.space[u] = place, wanted
        return True

    def set(self, u: int, v: int, w: int) -> int | None:
        """Set the weight of a pair and return the weight before; None if the arrays are full."""
        arc = self.find(u, v)
        old = 0 if arc < 0 else int(self.weight[arc])
        if arc >= 0 and w > 0:
            self.weight[arc] = self.weight[self.start[v] + self.opposite[arc]] = w
        elif arc >= 0:
            opposite = int(self.start[v] + self.opposite[arc])
            self.erase(u, arc)
            self.erase(v, opposite)
        elif w > 0:
            if not self.widen(u) or not self.widen(v):
                return None
            for row, to in ((u, v), (v, u)):
                place = int(self.start[row] + self.count[row])
                self.target[place], self.weight[place], self.opposite[place] = to, w, self.count[to]
            self.count[u] += 1
            self.count[v] += 1
        return old


def changing_pairs(arrays: _Arrays, u: Int32, v: Int32, w: Int64, old: Int64, begin: int) -> int:
    """Set the weights of pairs; return the first one for which the arrays are too small."""
    rows = _Rows(arrays)
    for place in range(begin, len(u)):
        before = rows.set(int(u[place]), int(v[place]), int(w[place]))
        if before is None:
            return place
        old[place] = before
    return len(u)
