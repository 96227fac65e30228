"""Machines: topologies and the parts they have, kinds of machines, and the nodes and slots a job uses."""
