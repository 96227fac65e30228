"""Reference implementation of the rounds of ``core/device``, in plain Python."""

from fractions import Fraction

_WORD, _LAST_TURN, _NEAR, _TOLERANCE = 2**64 - 1, 2, 32, 4
_LITTLE, _FRUITLESS, _ENTERING_BITS = 200, 3, 12
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
        active = set()
        rank = {v: place for place, v in enumerate(sorted(wish, key=lambda v: (-wish[v][0], v)))}
        confirmed = []
        for v, (_, to) in wish.items():
            seen = {u: wish[u][1] if u in rank and rank[u] < rank[v] else block[u] for u, _ in rows[v]}
            if sum(w * (table[block[v]][seen[u]] - table[to][seen[u]]) for u, w in rows[v]) >= 0:
                confirmed.append(v)
        wanted = [wish[v][1] if v in confirmed else -1 for v in range(len(rows))]
        gains = [wish[v][0] if v in wish else 0 for v in range(len(rows))]
        movers = admitted(block, wanted, gains, loads, held, caps, _ENTERING_BITS, leaving=False)
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


def order_of(gain: int, v: int) -> int:
    """Return the place of a move: larger gains first, by their sign and highest two bits, then by a hash."""
    width = abs(gain).bit_length()
    step = 2 * width - 1 + (width > 1 and abs(gain) >> (width - 2) & 1) if gain else 0
    return (127 - step if gain >= 0 else 127 + step) << 10 | mixed(v) >> 54


def admitted(
    block: list[int], target: list[int], gain: list[int], loads: list[int], held: list[int],
    most: list[int], bits: int, *, leaving: bool,
) -> list[int]:
    """Return the vertices that may move: for which there is room, or that overloaded blocks give away.

    Moves whose orders begin with the same bits go together; what leaves is the least that suffices.
    """
    found: list[int] = []
    for b in range(len(most)):
        beginnings: dict[int, list[int]] = {}
        for v, to in enumerate(target):
            if to >= 0 and (block[v] if leaving else to) == b:
                beginnings.setdefault(order_of(gain[v], v) >> 18 - bits, []).append(v)
        room = held[b] - most[b] if leaving else most[b] - held[b]
        for _, together in sorted(beginnings.items()):
            room -= sum(loads[v] for v in together)
            if room < 0 and not leaving:
                break
            found += together
            if room <= 0 and leaving:
                break
    return sorted(found)
