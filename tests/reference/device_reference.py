"""Reference implementation of the rounds of ``core/device``, in plain Python."""

from fractions import Fraction

_WORD, _LAST_TURN, _NEAR, _TOLERANCE = 2**64 - 1, 2, 32, 4
_LITTLE, _FRUITLESS, _SWEEPS = 200, 3, 3
Rows = list[list[tuple[int, int]]]


def mixed(x: int) -> int:
    """Return the hash of 64 bits."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _WORD
    return x ^ (x >> 31)


def _near(row: list[tuple[int, int]], group: list[int]) -> dict[int, int]:
    """Return the weight to each of the first adjacent groups."""
    sums: dict[int, int] = {}
    for u, weight in row:
        if group[u] in sums or len(sums) < _NEAR:
            sums[group[u]] = sums.get(group[u], 0) + weight
    return sums


def cluster(rows: Rows, loads: list[int], most: int, fewest: int, seed: int, rounds: int) -> list[int]:
    """Return the leader of the cluster of every vertex."""
    leader, held, joined = list(range(len(rows))), list(loads), set[int]()
    for turn in range(rounds):
        wanted = {}
        for v, row in enumerate(rows):
            acts = turn >= _LAST_TURN or mixed(seed ^ v) < 2 ** (64 - _LAST_TURN + turn)
            if v in joined or not acts:
                continue
            rated = [
                (Fraction(w * w, max(1, held[c])), mixed((seed + (min(c, v) << 32 | max(c, v))) & _WORD), c)
                for c, w in _near(row, leader).items() if held[c] + loads[v] <= most
            ]
            if rated:
                wanted[v] = max(rated)[2]
        asking: dict[int, list[int]] = {}
        for v, c in wanted.items():
            if c not in wanted:
                asking.setdefault(c, []).append(v)
        joins = {v: c for v, c in wanted.items() if wanted.get(c) == v and c < v}
        for c, several in asking.items():
            first = min(several, key=lambda v: (mixed(v) >> 33, v))
            fit = held[c] + sum(loads[v] for v in several) <= most
            joins |= {v: c for v in several if fit or v == first}
        for v, c in joins.items():
            leader[v] = c
            held[c] += loads[v]
            joined |= {v, c}
        if len({*leader}) <= fewest:
            break
    return leader


def refine(
    rows: Rows, loads: list[int], table: list[list[int]], caps: list[int], block: list[int], rounds: int
) -> list[int]:
    """Return the mapping after rounds of moves from all vertices."""
    block, best, cost, least, fruitless = list(block), list(block), 0, 0, 0
    active, rests = set(range(len(rows))), set[int]()
    held = [sum(loads[v] for v in range(len(rows)) if block[v] == b) for b in range(len(caps))]

    def price(v: int, b: int) -> int:
        return sum(weight * table[b][block[u]] for u, weight in rows[v])

    def choice(v: int) -> tuple[int, int] | None:
        near = _near(rows[v], block)
        room = [cap - load for cap, load in zip(caps, held, strict=True)] if fruitless else caps
        ranked = [(price(v, b), held[b], b) for b in near if b != block[v] and room[b] >= loads[v]]
        if not ranked:
            return None
        cheapest, _, b = min(ranked)
        gain = price(v, block[v]) - cheapest
        return (gain, b) if gain >= -(near.get(block[v], 0) * table[block[v]][b] // _TOLERANCE) else None

    for _ in range(rounds):
        wish = {v: found for v in active - rests if (found := choice(v)) is not None}
        rests -= active
        rank = {v: place for place, v in enumerate(sorted(wish, key=lambda v: (-wish[v][0], v)))}
        confirmed = []
        for v, (_, to) in wish.items():
            seen = {u: wish[u][1] if u in rank and rank[u] < rank[v] else block[u] for u, _ in rows[v]}
            if sum(w * (table[block[v]][seen[u]] - table[to][seen[u]]) for u, w in rows[v]) >= 0:
                confirmed.append(v)
        movers = _fitting(sorted(confirmed, key=rank.__getitem__), wish, block, loads, held, caps)
        if not movers:
            break
        before = mapping_cost(rows, table, block)
        for v in movers:
            held[block[v]] -= loads[v]
            held[wish[v][1]] += loads[v]
            block[v] = wish[v][1]
        cost += mapping_cost(rows, table, block) - before
        active, rests = {u for v in movers for u, _ in rows[v]} | {*wish}, rests | {*movers}
        fruitless = 0 if least - cost > -least // _LITTLE else fruitless + 1
        if cost < least:
            least, best = cost, list(block)
        if fruitless >= _FRUITLESS:
            break
    return best


def mapping_cost(rows: Rows, table: list[list[int]], block: list[int]) -> int:
    """Return the sum over edges of weight x distance."""
    return sum(w * table[block[v]][block[u]] for v, row in enumerate(rows) for u, w in row) // 2


def _fitting(
    ordered: list[int], wish: dict[int, tuple[int, int]], block: list[int], loads: list[int],
    held: list[int], caps: list[int],
) -> list[int]:
    held, target, movers = list(held), {v: wish[v][1] for v in ordered}, list[int]()

    def enter(several: list[int]) -> None:
        for v in several:
            held[block[v]] -= loads[v]
            held[target[v]] += loads[v]
        movers.extend(several)

    asked = [sum(loads[v] for v in ordered if target[v] == b) for b in range(len(caps))]
    free = {b for b in range(len(caps)) if asked[b] <= caps[b] - held[b]}
    enter([v for v in ordered if target[v] in free])
    left = [v for v in ordered if target[v] not in free]
    for _ in range(_SWEEPS):
        sums, fits = [0] * len(caps), []
        for v in left:
            sums[target[v]] += loads[v]
            if sums[target[v]] <= caps[target[v]] - held[target[v]]:
                fits.append(v)
        enter(fits)
        left = [v for v in left if v not in fits]
        if not fits:
            break
    return movers
