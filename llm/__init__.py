"""The workload: a small language model whose decode step is ordinary wgpu-py code; `python -m llm` runs it."""
