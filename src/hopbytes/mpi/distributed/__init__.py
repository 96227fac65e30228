"""Mapping of a graph that is distributed over the processes of a communicator. Needs mpi4py."""
