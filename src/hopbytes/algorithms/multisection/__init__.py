"""Parts of hierarchical multisection: levels, subproblems, effort per level, schedules and their executor."""
