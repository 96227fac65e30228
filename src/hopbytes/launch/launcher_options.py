"""Options of launchers as in their manual pages: those with a value, and those that place ranks."""

from __future__ import annotations

# orterun(1) of Open MPI 4.1 and prterun of 5.0.
OMPI_VALUES = """
N max-vm-size hnp H host hostfile default-hostfile machinefile cpu-set c n np npersocket npernode
map-by cpu-list rank-by bind-to cpus-per-proc cpus-per-rank rf rankfile output-filename stdin
xml-file xterm path prefix preload-files wd wdir x am tune debugger timeout app cf cartofile
max-restarts ompi-server personality ppr report-events report-pid report-uri launch-agent display
output runtime-options pset dvm-uri exec-agent set-sid add-host add-hostfile dvm
"""
OMPI_PLACING = """
map-by bind-to rank-by rankfile rf N npernode pernode npersocket bynode bycore byslot bysocket
cpu-set cpu-list cpus-per-proc cpus-per-rank bind-to-core bind-to-socket bind-to-none ppr
loadbalance use-hwthread-cpus
"""
# srun(1) of Slurm 22.05 to 26.05.
SLURM_VALUES = """
accel-bind A account acctg-freq bb bbf bcast-exclude b begin D chdir cluster-constraint M clusters
comment C constraint container S core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu c
cpus-per-task deadline delay-boot d dependency m distribution epilog e error x exclude export B
extra-node-info gid gpu-bind gpu-freq G gpus gpus-per-node gpus-per-socket gpus-per-task gres
gres-flags het-group hint i input J job-name jobid L licenses mail-type mail-user mcs-label mem
mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network F nodefile w nodelist N nodes n
ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode o output p
partition power prefer priority profile prolog q qos r relative reservation signal slurmd-debug
sockets-per-node switches task-epilog task-prolog thread-spec T threads threads-per-core t time
time-min tmp uid W wait wckey container-id container-type context extra ignore-signals ntasks-per-tres
segment tasks-per-node treewidth tres-bind tres-per-task
"""
SLURM_PLACING = """
distribution m nodelist w nodefile F exclude x relative r cpu-bind gpu-bind ntasks-per-node
ntasks-per-core ntasks-per-socket ntasks-per-gpu cpus-per-task c cores-per-socket extra-node-info B
hint tasks-per-node ntasks-per-tres tres-bind tres-per-task cpus-per-gpu exact
"""
# mpiexec.hydra of MPICH 4.0 to 5.0 and Intel MPI.
HYDRA_VALUES = """
f hosts host hostfile machinefile machine wdir configfile envlist genvlist n np launcher
launcher-exec rmk topolib bind-to binding map-by membind demux iface ppn perhost prepend-pattern
outfile-pattern errfile-pattern nameserver localhost usize gpus-per-proc bootstrap bootstrap-exec
path rankmap memory-alloc-kinds
"""
HYDRA_PLACING = """
f hosts host hostfile machinefile machine bind-to binding map-by ppn perhost rr grr order-nodes rankmap
"""
# mpiexec of PALS, from the user guides of Polaris and Aurora.
PALS_VALUES = """
n np ppn N hostfile hosts host cpu-bind mem-bind gpu-bind depth d env genv wdir line-buffer soft
arch path configfile exclude rlimits
"""
# flux-run(1).
FLUX_VALUES = """
n ntasks N nodes tasks-per-node tasks-per-core cores c cores-per-task g gpus-per-task gpus-per-node
t time-limit o setopt setattr env env-file env-remove taskmap job-name queue q B bank input output
error cwd requires urgency dependency begin-time signal S rlimit flags add-file wait-event
"""
# flux run accepts either per-node or per-task options; a mapping needs the per-node options.
FLUX_PLACING = """
taskmap tasks-per-node tasks-per-core cores c cores-per-task g gpus-per-task gpus-per-node
"""
# mpirun_rsh of MVAPICH2 2.3, from its user guide; assignments of variables follow these options.
MVAPICH_VALUES = """
np n hostfile hosts config configfile dpmspec spawnfile param ckpt-file
"""
MVAPICH_PLACING = """
hostfile hosts MV2_ENABLE_AFFINITY MV2_CPU_MAPPING MV2_CPU_BINDING_POLICY MV2_CPU_BINDING_LEVEL
MV2_HYBRID_BINDING_POLICY MV2_THREADS_PER_PROCESS MV2_PIVOT_CORE_ID
"""
