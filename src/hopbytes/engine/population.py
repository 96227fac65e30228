"""A population of permutations of places, whose members differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64


@dataclass(slots=True, eq=False)
class Population:
    """Different permutations; one that shares over `alike` places with a member competes with it only."""

    members: Int32
    costs: Int64
    alike: int
    fruitless_children: int = 0

    def add(self, place: Int32, cost: int, limit: int) -> None:
        """Let a child enter, in place of the worst member if full; reject duplicates and worse ones."""
        self.fruitless_children += 1
        rival = self._rival(place)
        if rival is None and len(self.members) < limit:
            self.members = np.vstack([self.members, place[None, :]])
            self.costs = np.append(self.costs, cost)
        else:
            rival = int(self.costs.argmax()) if rival is None else rival
            if cost >= self.costs[rival]:
                return
            self.members[rival], self.costs[rival] = place, cost
        self.fruitless_children = 0

    def _rival(self, place: Int32) -> int | None:
        """Return the member most like a permutation, if they are too much alike to be both members."""
        if not len(self.members):
            return None
        shared = np.count_nonzero(self.members == place, axis=1)
        nearest = int(shared.argmax())
        return nearest if shared[nearest] > self.alike else None
