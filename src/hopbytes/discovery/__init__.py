"""What the nodes of a job are, and how fast messages between them are: probe and ping-pong."""
