"""The data types: communication graph, allocation, mapping, and the capacities of PEs."""
