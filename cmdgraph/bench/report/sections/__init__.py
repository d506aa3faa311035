"""A section for each experiment: what it asks, its plots and its table, and what it adds to the answer."""

__all__: list[str] = []
