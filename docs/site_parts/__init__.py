"""What the build of the documentation generates; see docs/conf.py."""
