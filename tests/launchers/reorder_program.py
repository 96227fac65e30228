"""Run by mpirun with four processes: communicators that hopbytes reorders."""

import sys

from mpi4py import MPI

from hopbytes.errors import HopbytesError
from hopbytes.mpi import create_cart, create_dist_graph, create_dist_graph_adjacent, reorder

world = MPI.COMM_WORLD
rank = world.Get_rank()
if "invented" in sys.argv:  # two nodes of two cores, whatever this computer is
    import hopbytes.mpi.communicators as module
    from hopbytes.mpi.processes import Spot

    module.this_spot = lambda: Spot(f"node{rank // 2}", (rank % 2,), (0, -1, -1, rank % 2))
else:  # processes 0 and 1 are on the first of two hosts
    names = world.allgather(MPI.Get_processor_name())
    assert names[0] == names[1] != names[2] == names[3], names

# Ranks 0 and 2 talk, and 1 and 3: those pairs belong on one node each.
partner = (rank + 2) % 4
comm = reorder(world, {partner: 100})
role = comm.Get_rank()
node_of_role = dict(comm.allgather((role, rank // 2)))
assert node_of_role[0] == node_of_role[2] != node_of_role[1] == node_of_role[3]
received = comm.sendrecv((role, rank), dest=(role + 2) % 4, source=(role + 2) % 4)
assert received[0] == (role + 2) % 4
assert received[1] // 2 == rank // 2

# Nothing better to find: everybody stays.
assert reorder(world, {rank ^ 1: 100}).Get_rank() == rank
assert reorder(world, [0, 0, 0, 0]).Get_rank() == rank

# The neighbours of a rank go with the rank.
graph = create_dist_graph_adjacent(world, [partner], [partner], [7], [7])
role = graph.Get_rank()
assert graph.Get_dist_neighbors() == ([(role + 2) % 4], [(role + 2) % 4], ([7], [7]))
plain = create_dist_graph_adjacent(world, [partner], [partner], reorder=False)
assert plain.Get_rank() == rank

same = create_dist_graph_adjacent(world, [partner], [partner], MPI.UNWEIGHTED, MPI.UNWEIGHTED)
assert same.Get_dist_neighbors()[:2] == ([(same.Get_rank() + 2) % 4],) * 2

# Rank 1 gives the arcs of all; the mapping is that of a mapper by name.
arcs = ([0, 1, 2, 3], [1, 1, 1, 1], [2, 3, 0, 1], [7, 7, 7, 7]) if rank == 1 else ([], [], [], [])
whole = create_dist_graph(world, *arcs, method="treematch")
role = whole.Get_rank()
assert whole.Get_dist_neighbors()[:2] == ([(role + 2) % 4],) * 2
assert whole.allgather(role) == graph.allgather(graph.Get_rank())

cart = create_cart(world, (2, 2), (True, False))
assert cart.Get_topo()[:2] == ([2, 2], [1, 0])
lines = create_cart(world, (4,), reorder=False)
assert lines.Get_rank() == rank

# A fault of one is heard by all, and nobody waits.
def refusal(call):
    try:
        call()
    except HopbytesError as error:
        return str(error)
    return "nothing"


assert "rank 3 sends to rank 9, expected 0..3" in refusal(lambda: reorder(world, {9: 1} if rank == 3 else {}))
assert "-1 bytes" in refusal(lambda: reorder(world, {0: -1} if rank == 3 else {}))
assert "rank 3 gives 2 numbers of bytes, expected 4" in refusal(
    lambda: reorder(world, [1, 2] if rank == 3 else [0] * 4)
)
assert "rank 3 sends 2.5 bytes to rank 0" in refusal(lambda: reorder(world, {0: 2.5} if rank == 3 else {}))
for weights in ([1, 2], [2.5], 77):
    given = weights if rank == 3 else [1]
    assert "rank 3: destweights: " in refusal(
        lambda given=given: create_dist_graph_adjacent(world, [partner], [partner], [1], given)
    )
assert "rank 1: 1 destinations, expected 2, the sum of degrees" in refusal(
    lambda: create_dist_graph(world, [0], [2 if rank == 1 else 1], [1])
)
assert "unknown" in refusal(lambda: reorder(world, {partner: 1}, method="quick"))
assert "a grid of 5 ranks, expected 4" in refusal(lambda: create_cart(world, (5,)))
print(f"rank {rank} is content", flush=True)
