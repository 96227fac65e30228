"""Minimum cuts between blocks against their definition: all labellings of the region, one by one."""

import dataclasses
import itertools

import numpy as np
import pytest

from helpers.engine_cases import FLOWS_ONLY, arcs_of, cost_of, distances, edges, random_csr, refined, sums
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import SearchProblem, SearchSettings

LAYERS = 8


class Definition:
    """What rounds of flows do to a small placement.

    `pierced` counts how often caps asked for another cut, `narrowed` how often a part of a region became
    narrower, because a minimum cut would have moved too much.
    """

    def __init__(self, csr, matrix, pe, caps, loads, width=FLOWS_ONLY.flow_width):
        self.matrix, self.pe, self.caps, self.loads = matrix, pe.copy(), caps, loads
        self.near = [[] for _ in pe]
        for i, j, w in arcs_of(csr):
            self.near[i].append((j, w))
            self.near[j].append((i, w))
        for row in self.near:
            row.sort()
        self.pierced = self.narrowed = 0
        self.widest, self.times_narrowed = width, {}

    def run(self, rounds=1):
        active = set(range(len(self.caps)))
        for _ in range(rounds):
            before = self.pe.copy()
            self.run_round(active)
            moved = self.pe != before
            active = {*self.pe[moved].tolist(), *before[moved].tolist()} | self.changed
        return self.pe

    def run_round(self, active):
        costs, boundaries = {}, {}
        self.changed = set()
        for v, row in enumerate(self.near):
            for u, w in row:
                pair = tuple(sorted((int(self.pe[v]), int(self.pe[u]))))
                if pair[0] != pair[1] and active & set(pair):
                    costs[pair] = costs.get(pair, 0) + w * int(self.matrix[pair])
                    boundaries.setdefault(pair, set()).add(v)
        for pair in sorted(costs, key=lambda pair: (-costs[pair], pair)):
            self.improve(*pair, sorted(boundaries[pair]))

    def width(self, own, other):
        return 1 + (self.widest - 1) / 4 ** self.times_narrowed.get((own, other), 0)

    def region(self, a, b, boundary):
        """Vertices that may move, in order, and how far each is from the boundary."""
        load = sums(self.pe, self.loads, len(self.caps))
        depth = {}
        for own, other in ((a, b), (b, a)):
            room = self.caps[other] - load[other]
            slack = (self.caps[a] - load[a] + self.caps[b] - load[b]) // 2
            limit = min(load[own] - 1 - load[own] // 4, room + int((self.width(own, other) - 1) * slack))
            queue, found, taken = [(v, 0) for v in boundary], 0, 0
            while found < len(queue):
                v, at = queue[found]
                found += 1
                if v in depth or self.pe[v] != own or taken + self.loads[v] > limit:
                    continue
                depth[v], taken = at, taken + self.loads[v]
                if at < LAYERS:
                    queue += [(u, at + 1) for u, _ in self.near[v]]
        return list(depth), list(depth.values())

    def cuts(self, region, a, b):
        """Cost of every labelling; bit i of its number tells whether region[i] is in a."""
        local = {v: i for i, v in enumerate(region)}
        in_a = (np.arange(1 << len(region))[:, None] >> np.arange(len(region)) & 1).astype(bool)
        cost = np.zeros(len(in_a), np.int64)
        for i, v in enumerate(region):
            for u, w in self.near[v]:
                if u not in local:
                    far = self.pe[u]
                    cost += w * np.where(in_a[:, i], self.matrix[a, far], self.matrix[b, far])
                elif local[u] > i:
                    cost += w * int(self.matrix[a, b]) * (in_a[:, i] != in_a[:, local[u]])
        return in_a, cost

    def improve(self, a, b, boundary):
        region, depth = self.region(a, b, boundary)
        if not region:
            return
        at = self.pe[region] == a
        in_a, cost = self.cuts(region, a, b)
        present = cost[np.flatnonzero((in_a == at).all(axis=1))[0]]
        load = np.array([self.loads[v] for v in region])
        total = sums(self.pe, self.loads, len(self.caps))
        outside = total[a] - load[at].sum(), total[b] - load[~at].sum()
        kept = np.zeros((2, len(region)), bool)  # in a, in b
        while True:
            allowed = in_a[:, kept[0]].all(axis=1) & ~in_a[:, kept[1]].any(axis=1)
            if not allowed.any() or cost[allowed].min() >= present:
                return
            best = in_a[allowed & (cost == cost[allowed].min())]
            sides = [best.all(axis=0), ~best.any(axis=0)]
            sums_of = [outside[0] + load[sides[0]].sum(), outside[1] + load[sides[1]].sum()]
            free = load[~sides[0] & ~sides[1]].sum()
            choices = [(max(sums_of[0], sums_of[1] + free), 0, sides[0])]
            choices.append((max(sums_of[0] + free, sums_of[1]), 1, ~sides[1]))
            fits = [
                (most, which, side)
                for most, which, side in choices
                if outside[0] + load[side].sum() <= self.caps[a]
                and outside[1] + load[~side].sum() <= self.caps[b]
            ]
            if fits:
                self.pe[region] = np.where(min(fits, key=lambda choice: choice[:2])[2], a, b)
                self.changed |= {a, b}
                return
            over = [sums_of[0] - self.caps[a], sums_of[1] - self.caps[b]]
            for own, other, excess in ((b, a, over[0]), (a, b, over[1])):
                if excess > 0:
                    self.times_narrowed[own, other] = self.times_narrowed.get((own, other), 0) + 1
                    self.narrowed += 1
            if max(over) > 0 or not self.pierce(region, depth, at, sides, kept, int(over[0] > over[1])):
                return

    def pierce(self, region, depth, at, sides, kept, side):
        kept[side] |= sides[side]
        local = {v: i for i, v in enumerate(region)}
        reached = np.flatnonzero(sides[side]).tolist()
        beside = {local[u] for i in reached for u, _ in self.near[region[i]] if u in local} - set(reached)
        if not beside:
            return False
        own = at if side == 0 else ~at
        inside = {i: depth[i] + 1 if own[i] else -depth[i] for i in beside}
        kept[side, min(beside, key=lambda i: (sides[1 - side][i], -inside[i], i))] = True
        self.pierced += 1
        return True


def tangles(rng):
    n = int(rng.integers(8, 15))
    csr = random_csr(rng, n, per_task=int(rng.integers(1, 3)), heaviest=int(rng.choice([1, 9])))
    return csr, rng.integers(0, 3, n).astype(np.int32), 3


def legs(rng):
    """Legs from hub to hub, cut where they are dearest: much lies free between the smallest sides."""
    pairs, weights, pe = [], [], [0, 1]
    for length in rng.integers(2, 8, 3):
        way = [0, *range(len(pe), len(pe) + length), 1]
        boundary = int(rng.integers(1, length))
        pairs += itertools.pairwise(way)
        weights += [4 if i == boundary else int(rng.integers(1, 3)) for i in range(length + 1)]
        pe += [int(i >= boundary) for i in range(length)]
    return edges(len(pe), pairs, weights), np.array(pe, np.int32), 2


@pytest.mark.parametrize("kind", ["tree", "table"])
@pytest.mark.parametrize(("make", "least_pierced"), [(tangles, 0), (legs, 20)])
def test_cuts_and_piercing_are_as_defined(kind, make, least_pierced):
    pierced = improved = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        csr, pe, k = make(rng)
        matrix, near = distances(kind, k, rng)
        loads = rng.integers(1, 3, len(pe))
        caps = np.array(sums(pe, loads, k)) + int(rng.integers(1, 3))
        defined = Definition(csr, matrix, pe, caps.tolist(), loads.tolist())
        expected = defined.run()
        assert refined(csr, pe, caps, near, loads, search=FLOWS_ONLY).tolist() == expected.tolist(), seed
        pierced += defined.pierced
        improved += cost_of(csr, matrix, expected) < cost_of(csr, matrix, pe)
    assert pierced >= least_pierced
    assert improved > 20


@pytest.mark.parametrize("kind", ["tree", "table"])
def test_regions_are_narrower_after_a_cut_that_moves_too_much(kind):
    """Later rounds look at less of a block from which a minimum cut would move more than fits."""
    search = dataclasses.replace(FLOWS_ONLY, flow_rounds=4, flow_width=8)
    narrowed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        csr, pe, k = tangles(rng)
        matrix, near = distances(kind, k, rng)
        loads = rng.integers(1, 3, len(pe))
        caps = np.array(sums(pe, loads, k)) + rng.integers(1, 4, k)
        defined = Definition(csr, matrix, pe, caps.tolist(), loads.tolist(), width=8)
        expected = defined.run(rounds=4)
        assert refined(csr, pe, caps, near, loads, search=search).tolist() == expected.tolist(), seed
        narrowed += defined.narrowed
    assert narrowed > 20


def strip(length, width):
    number = np.arange(length * width).reshape(length, width)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    return edges(length * width, np.hstack([[i.ravel(), j.ravel()] for i, j in pairs]).T.tolist())


def counted(csr, pe, caps, near, threads, rounds=3):
    """The placement after some rounds of flows, scanned edges, and those beyond the span."""
    work = []
    control = RunControl(1, threads, spend=lambda arcs, _: work.append(arcs), overlap=work.append)
    settings = RefinementSettings(cycles=0, search=SearchSettings(rounds=0, flow_rounds=rounds))
    found = refine_placement(SearchProblem(csr, None, near, None), pe.copy(), caps, settings, control=control)
    return found[0].tolist(), *work


def wavy(length, width, k, rng):
    """Blocks side by side along a strip, with wavy boundaries."""
    offset = np.repeat(rng.integers(-2, 3, length // 5), 5)
    return np.clip((np.arange(width) + offset[:, None]) * k // width, 0, k - 1).astype(np.int32).ravel()


@pytest.mark.parametrize(
    ("length", "width", "k", "least_parallel"), [(2000, 16, 2, 3), (800, 40, 4, 3), (300, 32, 2, 1)]
)
@pytest.mark.parametrize("kind", ["tree", "table"])
def test_long_boundaries_are_cut_in_regions(kind, length, width, k, least_parallel):
    """The regions straighten the boundaries, within the caps, and alike for any number of threads.

    The last boundary is a single region, whose two sides several threads look at.
    """
    rng = np.random.default_rng(k)
    csr, pe = strip(length, width), wavy(length, width, k, rng)
    matrix, near = distances(kind, k, rng)
    caps = np.full(k, length * width // k * 11 // 10, np.int64)
    one, *others = (counted(csr, pe, caps, near, threads) for threads in (1, 2, 3, 5))
    assert others == [one] * 3
    found, arcs, beyond = one
    assert (np.bincount(found, minlength=k) <= caps).all()
    straight = np.repeat(np.arange(k), width // k)
    least = cost_of(csr, matrix, np.tile(straight, length))
    assert cost_of(csr, matrix, found) <= min(1.02 * least, cost_of(csr, matrix, pe) - 1)
    assert arcs >= least_parallel * (arcs - beyond)


def test_regions_that_overlap_gain_together_what_the_cost_says():
    """Random blocks on a random graph: every pair frees the same vertices, and the cost still falls."""
    rng = np.random.default_rng(3)
    csr = random_csr(rng, 9000, per_task=2)
    matrix, near = distances("table", 5, rng)
    pe = rng.integers(0, 5, 9000).astype(np.int32)
    caps = np.full(5, 2340, np.int64)
    one, two = (counted(csr, pe, caps, near, threads) for threads in (1, 2))
    assert one == two
    assert (np.bincount(one[0], minlength=5) <= caps).all()
    assert cost_of(csr, matrix, one[0]) < cost_of(csr, matrix, pe)
