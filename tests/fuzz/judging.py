"""Whether an answer of ``map_tasks`` is right, from the definitions alone, with no code of the package."""

from collections import Counter
from fractions import Fraction
from math import ceil, floor, gcd


def complaints(run, pe, info):
    """Return what is wrong with a placement, a sentence each."""
    graph, where, options = run.graph, run.place.where, run.options
    n, k = graph.n, where.k
    if str(pe.dtype) != "int32" or pe.shape != (n,) or (n and (pe.min() < 0 or pe.max() >= k)):
        return [f"pe is {pe.dtype}{list(pe.shape)} from {pe.min(initial=0)} to {pe.max(initial=0)}"]
    pe = pe.tolist()
    found = [*_costs(run, pe, info), *_places(options, pe)]
    closed = _closed(options, n, k)
    held = Counter(pe)
    if any(held[p] for p in closed):
        found.append("a PE that is forbidden to all tasks is in use")
    usable = [p for p in range(k) if p not in closed]
    asked = options.get("partition")
    if asked is None:
        asked = not options.get("oversubscribe") and n >= 8 * len(usable)
    if info["problem"] != ("partition" if asked else "processes"):
        found.append(f"problem {info['problem']!r}")
    # As many PEs as tasks, or more: one task each, whatever it is called.
    if n <= len(usable) or not asked:
        found += _processes(run, pe, held, usable)
    else:
        found += _partition(run, pe, held, usable, info)
    return found


def _weights(run):
    graph, weight = run.graph, run.options.get("weight", "bytes")
    given = {"bytes": graph.volumes, "messages": graph.messages, "unit": None}[weight]
    return [1] * graph.m if given is None else given.tolist()


def _arcs(graph):
    indptr, targets = graph.indptr.tolist(), graph.targets.tolist()
    rows = [range(indptr[task], indptr[task + 1]) for task in range(graph.n)]
    return [(task, targets[arc], arc) for task, row in enumerate(rows) for arc in row]


def _cost(run, pe):
    weights, distance = _weights(run), run.place.distance
    # A task is at no distance from itself, but on tables that say so: their diagonal is as drawn.
    return sum(weights[arc] * distance[pe[u]][pe[v]] for u, v, arc in _arcs(run.graph))


def _costs(run, pe, info):
    cost, found = _cost(run, pe), []
    if info["comm_cost"] != cost:
        found.append(f"comm_cost {info['comm_cost']}, the definition gives {cost}")
    objective = run.options.get("objective", "comm_cost").replace("-", "_")
    if objective == "comm_cost" and info["objective_value"] != cost:
        found.append(f"objective_value {info['objective_value']}, the definition gives {cost}")
    if objective == "hop_bytes" and run.place.hops is not None:
        weights, hops = _weights(run), run.place.hops
        sum_of_hops = sum(weights[arc] * hops[pe[u]][pe[v]] for u, v, arc in _arcs(run.graph))
        if info["objective_value"] != sum_of_hops:
            found.append(f"hop_bytes {info['objective_value']}, the definition gives {sum_of_hops}")
    home = run.options.get("initial")
    if home is not None:
        moved = sum(a != b for a, b in zip(pe, home.tolist(), strict=True))
        price = run.options["migration_price"]
        if (info["migrations"], info["migration_cost"]) != (moved, moved * price):
            found.append(f"{info['migrations']} migrations for {info['migration_cost']}, there are {moved}")
        found += _no_worse_than_home(run, pe, home.tolist(), cost + moved * price, info)
    return found


def _no_worse_than_home(run, pe, home, cost, info):
    """The present placement, where it keeps all bounds, is only left for a cheaper one."""
    options, k = run.options, run.place.where.k
    others = {"objective", "fixed", "forbidden", "pack", "tasks_per_node", "tasks_per", "weight"}
    simple = info["problem"] == "processes" and not others & set(options)
    if not simple or len(home) > k or len(set(home)) < len(home):
        return []
    before = _cost(run, home)
    return [f"cost {cost} with migration, staying costs {before}"] if cost > before else []


def _places(options, pe):
    fixed, forbidden = options.get("fixed", {}), options.get("forbidden", ())
    return [
        *(f"task {t} is on PE {pe[t]}, fixed to {p}" for t, p in fixed.items() if pe[t] != p),
        *(f"task {t} is on PE {p}, which is forbidden" for t, p in set(forbidden) if pe[t] == p),
    ]


def _closed(options, n, k):
    """PEs that no task may use."""
    barred = Counter(p for _, p in set(options.get("forbidden", ())))
    return {p for p in range(k) if n and barred[p] == n}


def _processes(run, pe, held, usable):
    n, options, where = run.graph.n, run.options, run.place.where
    if n > len(usable):
        if not options.get("oversubscribe"):
            return ["more tasks than PEs were taken without leave"]
        capacity = [1] * where.k if where.capacity is None else where.capacity.tolist()
        whole = sum(capacity[p] for p in usable)
        return [
            f"PE {p} holds {held[p]} tasks, its share is {n * capacity[p] / whole}"
            for p in usable if abs(Fraction(n * capacity[p], whole) - held[p]) >= 1
        ]
    found = [f"PE {p} holds {count} tasks" for p, count in held.items() if count > 1]
    free_of_places = not {"fixed", "forbidden", "initial"} & set(options)
    if options.get("pack") and free_of_places and sorted(pe) != usable[:n]:
        found.append("the first PEs are not packed")
    limits = dict([options["tasks_per"].split("=")]) if "tasks_per" in options else {}
    if "tasks_per_node" in options and "node" in run.place.units:
        limits["node"] = options["tasks_per_node"]
    for name, limit in limits.items():
        units = run.place.units[name]
        counts = Counter(units[p] for p in pe)
        short = [unit for unit, count in counts.items() if count < int(limit)]
        crowded = any(count > int(limit) for count in counts.values())
        if crowded or short not in ([], [max(counts, default=-1)]):  # the last one may get fewer
            found.append(f"{limit} per {name} asked, found {sorted(counts.items())}")
    return found


def _partition(run, pe, held, usable, info):
    graph, options, where = run.graph, run.options, run.place.where
    slack = 1 + Fraction(str(options["imbalance"]))
    capacity = [1] * where.k if where.capacity is None else where.capacity.tolist()
    free_of_places = not {"fixed", "forbidden", "initial"} & set(options)
    loads = None if graph.loads is None else graph.loads.tolist()
    unit = gcd(*loads) if loads else 1  # caps count multiples of what divides all loads
    if loads is not None and (not any(loads) or set(loads) == {unit}):
        loads, unit = None, max(unit, 1)
    elif loads is not None:
        loads = [load // unit for load in loads]
    found = []
    if graph.n >= len(usable) and free_of_places and len(held) < len(usable):
        found.append(f"{len(usable) - len(held)} of {len(usable)} PEs are empty")
    caps, loads = _caps(loads or [1] * graph.n, [capacity[p] for p in usable], slack)
    kept = Counter()
    for task, p in enumerate(pe):
        kept[p] += loads[task]
    over = [(p, kept[p], cap) for p, cap in zip(usable, caps, strict=True) if kept[p] > cap]
    if bool(over) != (info["balance"] == "relaxed"):
        found.append(f"balance {info['balance']}, beyond their caps are {over[:3]}")
    if over and options.get("strict"):
        found.append(f"strict, beyond their caps are {over[:3]}")
    if over and free_of_places and set(loads) == {1}:
        found.append(f"tasks of load one, beyond their caps are {over[:3]}")
    if over and free_of_places and len(set(capacity)) == 1:
        most = ceil(Fraction(sum(loads), len(usable))) + max(loads)  # Graham: longest tasks first
        found += [f"PE {p} holds {load}, more than mean and heaviest" for p, load, _ in over if load > most]
    if usable and info["bound_asked"] != max(caps) * unit:
        found.append(f"bound_asked {info['bound_asked']}, the definition gives {max(caps)} times {unit}")
    return found


def _caps(loads, capacity, slack):
    """Caps of PEs, and loads with tasks that are heavier than a fair share cut down to a full PE."""
    total, free, sizes = sum(loads), sum(capacity), sorted(capacity, reverse=True)
    heaviest, heavy = sorted(loads, reverse=True), 0
    while heavy < min(len(sizes) - 1, len(loads)):
        if heaviest[heavy] <= slack * total * sizes[heavy] / free:
            break
        total -= heaviest[heavy]
        free -= sizes[heavy]
        heavy += 1
    most = (2**63 - 1) // len(capacity)  # caps sum to what 63 bits hold
    caps = [
        min(max(floor(slack * total * size / free), ceil(Fraction(total * size, free))), max(total, 1), most)
        for size in capacity
    ]
    if set(loads) != {1}:
        caps = [max(1, cap) for cap in caps]
    if heavy:
        loads = [min(load, max(caps)) for load in loads]
    return caps, loads
