"""Ranks that wait for each other's messages: when each passes its steps, as an obvious event loop."""

import heapq
import itertools
import math

from hopbytes._arrays import Array, Float64, Int32, Int64

SEND, POST, RECEIVED, SENT = range(4)
EAGER, DETACHED, RENDEZVOUS = range(3)


def replay_waiting(
    first: Int64, kinds: Array, messages: Int32, protocols: Array, queues: Int32, paths: Int32,
    bytes: Float64, start: Int64, links: Int64, shares: Float64, latencies: Float64, rates: Float64,
    capacity: Float64, tolerance: float, control: Int32, passed: Float64, begun: Float64, arrived: Float64,
) -> int:
    """Fill in the times of steps and messages, and return how many ranks wait for ever.

    A message begins when it is sent, or when it is sent and its receive posted; after the latency of its
    path it is behind those of its queue, then it shares the links of its path.
    """
    ranks, now = len(first) - 1, 0.0
    at = [int(first[rank]) for rank in range(ranks)]
    passed[:], begun[:], arrived[:] = math.inf, math.inf, math.inf
    sent: set[int] = set()
    posted: set[int] = set()
    waiting: dict[tuple[int, int], int] = {}  # message and kind of step -> rank
    ahead: list[tuple[float, int, int]] = []
    numbers = itertools.count()
    queued: dict[int, list[int]] = {}
    active: list[int] = []
    left: dict[int, float] = {}
    woken: list[int] = []

    def taken(m: int) -> list[tuple[int, float]]:
        return [(int(links[e]), float(shares[e])) for e in range(start[paths[m]], start[paths[m] + 1])]

    def go_on(rank: int) -> None:
        while at[rank] < first[rank + 1]:
            kind, m = int(kinds[at[rank]]), int(messages[at[rank]])
            if kind == SEND:
                sent.add(m)
            if kind == POST:
                posted.add(m)
            ready = m in sent and (protocols[m] == EAGER or m in posted)
            if kind in (SEND, POST) and ready and not (kind == POST and protocols[m] == EAGER):
                heapq.heappush(ahead, (now + latencies[paths[m]], next(numbers), m))
            waits = kind == RECEIVED or (kind == SENT and protocols[m] == RENDEZVOUS)
            if waits and arrived[m] > now:
                waiting[m, kind] = rank
                return
            passed[at[rank]] = now
            at[rank] += 1

    def move(m: int) -> None:
        begun[m] = now
        if bytes[m] <= 0:
            arrive(m)
        elif not taken(m):
            heapq.heappush(ahead, (now + bytes[m] / rates[paths[m]], next(numbers), m))
        else:
            left[m] = float(bytes[m])
            active.append(m)

    def arrive(m: int) -> None:
        arrived[m] = now
        queue = queued[int(queues[m])]
        queue.remove(m)
        if queue:
            move(queue[0])
        woken.extend(waiting[m, kind] for kind in (SENT, RECEIVED) if (m, kind) in waiting)

    for rank in range(ranks):
        go_on(rank)
    while not control[0]:
        penalty = {m: float(latencies[paths[m]]) or 1.0 for m in active}
        speed = _speeds({m: taken(m) for m in active}, penalty, capacity)
        ends = {m: now + left[m] / speed[m] if speed[m] > 0 else math.inf for m in active}
        following = min([*ends.values(), *(event[0] for event in ahead)], default=math.inf)
        if following == math.inf:
            break
        length, now = following - now, following
        for m in active:
            left[m] -= speed[m] * length
        ended = [m for m in active if ends[m] <= now or left[m] <= tolerance * bytes[m]]
        active[:] = [m for m in active if m not in ended]
        for m in ended:
            arrive(m)
        while ahead and ahead[0][0] <= now:
            m = heapq.heappop(ahead)[2]
            if begun[m] <= now:
                arrive(m)
                continue
            queue = queued.setdefault(int(queues[m]), [])
            queue.append(m)
            if queue[0] == m:
                move(m)
        while woken:
            go_on(woken.pop())
    return sum(at[rank] < first[rank + 1] for rank in range(ranks))


def _speeds(
    taken: dict[int, list[tuple[int, float]]], penalty: dict[int, float], capacity: Float64
) -> dict[int, float]:
    """Return max-min fair bytes per second: the link whose messages get least is full first."""
    room: dict[int, float] = {}
    weight: dict[int, float] = {}
    for m, entries in taken.items():
        for link, share in entries:
            room[link] = float(capacity[link])
            weight[link] = weight.get(link, 0.0) + share / penalty[m]
    full = [(room[link] / weight[link], link) for link in room]
    heapq.heapify(full)
    speed: dict[int, float] = {}
    level = 0.0
    while len(speed) < len(taken):
        stored, link = heapq.heappop(full)
        now = level
        if weight[link]:
            now = max(level, room[link] / weight[link])
        elif room[link] > 0:
            now = math.inf
        if now > stored:
            heapq.heappush(full, (now, link))
            continue
        level = stored
        for m, entries in taken.items():
            if m in speed or all(other != link for other, _ in entries):
                continue
            speed[m] = level / penalty[m]
            for other, share in entries:
                room[other] -= share * speed[m]
                weight[other] -= share / penalty[m]
    return speed
