# Says what a node is: host, CPUs that may be used, and the kernel's files about CPUs, memory and GPUs.
# POSIX sh; every line begins with the host, because the lines of many nodes may come mixed, and the last
# line says how many there are, because some may get lost. Comments and line ends are taken out on the way.
export LC_ALL=C
# What may be used is what remains after asking for everything: a launcher may have bound this process to less.
taskset -pc 0-65535 $$ >/dev/null 2>&1 || taskset -pc 0-4095 $$ >/dev/null 2>&1 || taskset -pc 0-1023 $$ >/dev/null 2>&1
# Slurm's name of a node is the one its host lists need.
# grep reads whole blocks: some of these files answer a shell that reads byte after byte with nothing.
found=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*/allowed /p' /proc/$$/status; cd /sys && grep -s . @PATTERNS@ /dev/null | sed 's/^/file /')
count=$(printf '%s\n' "$found" | wc -l)
printf '%s\nend %d\n' "$found" "$((count + 1))" | sed "s/^/#hopbytes ${SLURMD_NODENAME:-$(uname -n)} /"
