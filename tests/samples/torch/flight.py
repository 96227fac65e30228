"""Two steps with pipeline, data and tensor groups of two; 8 processes write their flight recorders."""

from pathlib import Path

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace_json
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pp", "dp", "tp"))
tp, dp, pp = (mesh.get_group(name) for name in ("tp", "dp", "pp"))


def step():
    for _ in range(3):
        dist.all_reduce(torch.ones(1024), group=tp)
    stage = (dist.send, dist.recv)[rank // 4]
    stage(torch.ones(256), (rank + 4) % 8, group=pp)
    dist.all_reduce(torch.ones(4096), group=dp)
    dist.all_gather([torch.empty(64) for _ in range(2)], torch.ones(64), group=dp)
    dist.all_gather_into_tensor(torch.empty(128), torch.ones(64), group=dp)
    dist.reduce_scatter_tensor(torch.empty(64), torch.ones(128), group=dp)
    tokens = torch.ones(16, dtype=torch.bfloat16)
    dist.all_to_all_single(torch.empty_like(tokens), tokens, group=dp)
    dist.broadcast(torch.ones(32), src=0)
    dist.reduce(torch.ones(32), dst=0)
    dist.gather(torch.ones(8), [torch.empty(8) for _ in range(8)] if rank == 1 else None, dst=1)
    dist.scatter(torch.empty(8), [torch.ones(8) for _ in range(8)] if rank == 1 else None, src=1)
    dist.barrier()


step()
step()
Path(f"flight_{rank}.json").write_bytes(_dump_fr_trace_json())
dist.destroy_process_group()
