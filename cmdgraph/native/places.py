"""Where the layer's parts lie, and what the Vulkan loader calls it."""

from pathlib import Path

__all__ = ["FOLDER", "LAYER", "LIBRARY", "MANIFEST", "SOURCES"]

FOLDER = Path(__file__).parent
SOURCES = FOLDER / "layer"
LIBRARY = FOLDER / "libVkLayer_cmdgraph.so"
MANIFEST = FOLDER / "VkLayer_cmdgraph.json"
LAYER = "VK_LAYER_CMDGRAPH_native"
