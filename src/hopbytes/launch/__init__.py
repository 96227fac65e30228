"""Starting programs on a placement: whose command it is, what is put into it, and what came of it."""
