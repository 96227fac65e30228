"""Run by mpirun with four processes on two invented nodes: tasks move, and ranks are exchanged."""

from mpi4py import MPI

import hopbytes.mpi.changing
from hopbytes.errors import HopbytesError
from hopbytes.mpi import ChangingRanks, ChangingTasks
from hopbytes.mpi.processes import Spot

world = MPI.COMM_WORLD
rank = world.Get_rank()
hopbytes.mpi.changing.this_spot = lambda: Spot(f"node{rank // 2}", (rank % 2,), (0, -1, -1, rank % 2))

# A ring of 40 tasks in four equal parts; tasks are called 1000, 1001, ...
mine = range(1000 + 10 * rank, 1010 + 10 * rank)
ring = [(task, 1000 + (task - 999) % 40, 100) for task in mine]
tasks = ChangingTasks(world, dict.fromkeys(mine, 1), ring, imbalance="30%", migration_price=10)
data = {task: f"data of {task}" for task in mine}


def carry_out(moves):
    """Send and receive the data of tasks; what arrives is what was announced."""
    requests = [
        world.isend([(task, data.pop(task)) for task in given], to) for to, given in moves.send.items()
    ]
    for source, expected in moves.receive.items():
        came = world.recv(source=source)
        assert [task for task, _ in came] == expected
        data.update(came)
    MPI.Request.waitall(requests)


carry_out(tasks.update())
held = set(data)
# Tasks 1005 and 1025 exchange much from now on, and one of them has to go to the other.
carry_out(tasks.update(edges=[(1005, 1025, 10**6)] if rank == 1 else []))
home = world.allgather((1005 in data, 1025 in data))
assert (True, True) in home, home
# Process 3 makes ten tasks that belong to a task of process 0, and all tasks of process 2 end.
new = {2000 + each: 1 for each in range(10)} if rank == 3 else {}
data |= {task: f"data of {task}" for task in new}
ending = [task for task in range(1020, 1030) if task in data]
for task in ending:
    del data[task]
carry_out(tasks.update(arrived=new, vanished=ending, edges=[(task, 1001, 10**5) for task in new]))
everything = sorted(task for each in world.allgather(sorted(data)) for task in each)
assert everything == [*range(1000, 1020), *range(1030, 1040), *range(2000, 2010)]
assert all(text == f"data of {task}" for task, text in data.items())
assert max(world.allgather(len(data))) <= 13
for bad in ({"edges": [(1, 1001, 5)]}, {"vanished": [5]}, {"arrived": {1001: 1}}):
    try:
        tasks.update(**(bad if rank == 2 else {}))
    except HopbytesError:
        continue
    raise AssertionError(bad)
carry_out(tasks.update())

# Ranks 0 and 2, on different nodes, begin to exchange much.
ranks = ChangingRanks(world, {rank ^ 1: 100}, migration_price=5)
move = ranks.update({2: 10**4} if rank == 0 else {})
assert move.changed
work = ranks.comm.sendrecv(f"work of {rank}", dest=move.dest, source=move.source)
assert work == f"work of {ranks.comm.Get_rank()}"
node = dict(world.allgather((ranks.comm.Get_rank(), rank // 2)))
assert node[0] == node[2]
still = ranks.comm
assert not ranks.update({}).changed
assert ranks.comm is still
try:
    ranks.update({9: 1} if rank == 0 else {})
except HopbytesError:
    print(f"rank {rank} is content", flush=True)
