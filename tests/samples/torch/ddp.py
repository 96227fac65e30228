"""Data parallel training of a small network; 8 processes write a trace of one step."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(24, 10, bias=False))


def step():
    model(torch.ones(2, 24)).sum().backward()
    dist.broadcast(torch.ones(32), src=3)
    if rank < 7:
        dist.send(torch.ones(16), rank + 1)
    if rank > 0:
        dist.recv(torch.ones(16), rank - 1)


step()
step()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
    step()
recorded.export_chrome_trace(f"ddp_{rank}.json")
dist.barrier()
dist.destroy_process_group()
