"""Two-level mapping: groups of tasks are mapped to nodes, then the tasks of a group inside its node."""
