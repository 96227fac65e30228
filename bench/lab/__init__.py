"""Measured seconds: described machines as hosts, routers and links of one computer, and MPI programs on them.

    python -m bench.lab --list                                 # fabrics and programs
    python -m bench.lab --check                                # build and check every fabric, a minute
    python -m bench.lab --out lab.jsonl --fabrics flat fat_tree --programs halo2s sweep --repetitions 5
    python -m bench.lab --mpi mpich --recordings kept --fabrics mesh --programs halo2 --out lab.jsonl
    python -m bench.lab --table lab.jsonl

The recommended order is what `hopbytes map` says of a recording: its mapping, or the launcher's own order.
LAMMPS, OpenFOAM and hpcc are those of Debian, for Open MPI; the others are programs.c, for both.
Programs whose names begin with `umpa` or `ptram` are small versions of Table I of paper 003 and of Fig. 7
of paper 004.

A host or router is a network name space, a cable is a pair of virtual Ethernet devices, and its two
directions are shaped to the bandwidth of the description, some 2 MB/s, so that the processors of the computer
do not decide the time. TCP does not search for bandwidth, and programs run before other processes. Routes
are those of hopbytes. Messages inside a host take no link and almost no time.
Everything is in a name space of processes of its own, which the kernel clears when the command ends, also
when it is killed; the network of the computer is not touched. Needs root, or name spaces for users; iproute2,
a C compiler, Open MPI or MPICH.
"""
