"""Looking at a graph."""
