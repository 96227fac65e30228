"""Predicted time of a communication phase: lower bounds, flows that share links, and replays by SimGrid."""
