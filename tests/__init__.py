"""A package, so that no other `tests` on the path, of which some wheels install one, is taken for ours."""
