"""Small tools that know nothing of mapping: registries, options, checked arguments, integers, deadlines."""
