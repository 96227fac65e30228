"""Discovery of the nodes of a job (probe) and of the speed of messages between them (ping-pong)."""
