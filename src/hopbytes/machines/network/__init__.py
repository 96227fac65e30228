"""Links, routes and distances between nodes."""
