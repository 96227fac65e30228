"""Gives MPI_COMM_WORLD of an unmodified program another order of ranks, by a library that is preloaded."""
