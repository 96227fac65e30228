"""From a graph and an allocation to a verified mapping: problem, chain of algorithms, feasibility."""
