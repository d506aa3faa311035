"""The measuring method and the experiments that need no LLM.

`method` measures, `environment` says on what, `strategies` compares the ways a replay can reach the queue.
Each is imported by its own name, so that asking for one does not load the others.
"""

__all__: list[str] = []
