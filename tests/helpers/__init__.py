"""What several test files use: paths, graphs, machines, stand-ins for MPI."""
