"""The plots, one file for each kind; `style` holds what they have in common. Each gives the text of an SVG file."""

__all__: list[str] = []
