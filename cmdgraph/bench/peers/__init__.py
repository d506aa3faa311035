"""How others run the same work: one file a peer, all in one run.

    cmdgraph bench peers --peers 'onnxruntime*,cmdgraph-*'

`base` says what a peer is, `registry` names them, `child` is the process that each lives in and `process` our end of
it, `arm` checks and times one with one chain, `verdict` compares, `table` shows. `cmdgraph.bench.experiments.peers`
orders the rounds. Nothing of a peer is imported before its own process asks for it.
"""

__all__: list[str] = []
