"""Flows that share links fairly, from the definition of max-min fairness."""

import math

from hopbytes._arrays import Float64, Int64


def fair_rates(
    start: Int64, link: Int64, share: Float64, capacity: Float64, penalty: Float64, active: list[int]
) -> dict[int, float]:
    """Return the rate of every active flow: links fill up one after the other, the scarcest first."""
    room = {e: float(c) for e, c in enumerate(capacity)}
    rates = {flow: math.inf for flow in active if start[flow] == start[flow + 1]}
    while len(rates) < len(active):
        weight: dict[int, float] = {}
        for flow in active:
            if flow not in rates:
                for e in range(int(start[flow]), int(start[flow + 1])):
                    weight[int(link[e])] = weight.get(int(link[e]), 0.0) + share[e] / penalty[flow]
        level, scarcest = min((room[at] / weight[at], at) for at in weight)
        for flow in active:
            taken = range(int(start[flow]), int(start[flow + 1]))
            if flow not in rates and any(link[e] == scarcest for e in taken):
                rates[flow] = float(level / penalty[flow])
                for e in taken:
                    room[int(link[e])] -= share[e] * rates[flow]
    return rates


def fair_flows(
    flows: tuple[Int64, Int64, Float64, Float64, Float64, Float64], tolerance: float, steps: int,
    left: Float64, clock: Float64,
) -> int:
    """Make at most `steps` steps and return how many flows have not ended.

    A step ends when a flow begins or ends, or after `tolerance` times the time so far if that is later.
    """
    start, link, share, capacity, penalty, wait = flows
    live = [flow for flow in range(len(left)) if left[flow] > 0]
    while live and steps > 0:
        steps -= 1
        active = [flow for flow in live if wait[flow] <= clock[0]]
        rates = fair_rates(start, link, share, capacity, penalty, active)
        ends = {
            flow: clock[0] + (left[flow] / rate if rate > 0 else math.inf) for flow, rate in rates.items()
        }
        events = [*ends.values(), *(wait[flow] for flow in live if flow not in ends)]
        until = max(min(events), clock[0] * (1 + tolerance))
        for flow in active:
            if ends[flow] <= until:
                left[flow] = 0
                clock[1] = max(clock[1], ends[flow])
            else:
                left[flow] -= rates[flow] * (until - clock[0])
        clock[0] = until
        live = [flow for flow in live if left[flow] > 0]
    return len(live)
