"""How other programs are started, and how a process is measured."""
