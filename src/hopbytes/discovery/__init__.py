"""Measuring a machine: ping-pong between chosen pairs of cores, latency and bandwidth of every level."""
