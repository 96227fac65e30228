"""Time of messages: latency and bytes over bandwidth, by level of a tree and by link of a network."""
