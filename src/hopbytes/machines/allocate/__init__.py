"""From a machine to an allocation: which nodes, which slots, how many tasks on each."""
