"""Predicted time of a communication phase: a bound of our own, SimGrid's flows, and replays of its MPI."""
