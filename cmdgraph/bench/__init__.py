"""The measuring method, the experiments that need no LLM, and the JSON that all experiments write.

`method` measures, `environment` says on what, `results` makes, writes, reads and compares reports, `experiments` holds
one file for each experiment. Each is imported by its own name, so that asking for one does not load the others.

The report
==========
Every experiment, with an LLM or without, writes one JSON object. Units stand in the names and beside the figures;
what does not apply is left out or empty. An experiment may add keys of its own; readers ignore keys that they do not
know.

``format``, ``version``
    ``"cmdgraph-bench"`` and 1. Files without them are of version 0; `results.read` brings them up to date.
``experiment``
    The name of its command, for example ``"dispatch"``.
``environment``
    What `environment.describe` gives: ``adapter``, ``driver``, ``backend``, ``software_adapter``, versions, machine,
    ``commit`` and ``dirty``, ``date``, ``command``, ``timer_resolution_s`` and others.
``workload``
    What runs: numbers and names that hold for all rows.
``method``
    ``description``, ``timed_region``, ``sync`` (how the GPU is waited for, and when), ``rounds`` done and
    ``rounds_wanted``, ``warmup`` (untimed runs of each row at least) and ``warmup_runs`` by row, ``seed``; where
    timestamps were taken ``gpu_time`` with ``unit`` and ``period_ns``.
``interrupted``
    Whether somebody stopped it: then ``rounds`` is below ``rounds_wanted``.
``rows``
    A list, see below.
``left_out``
    Rows that cannot be measured here: ``{"row", "reason"}``.
``ratios``
    ``{"quantity", "over", "under", "ratio", "ci95_low", "ci95_high"}``; ``over`` and ``under`` are names of rows.
``fits``
    Straight lines: ``{"quantity", "series", "against", "slope", "intercept"}``, the last two each ``{"value", "unit",
    "ci95_low", "ci95_high"}``; ``against`` is the key in the rows that the line runs along.
``findings``
    Answers in one number: ``{"name", "value", "unit", "text"}`` and, where known, ``"ci95_low"``, ``"ci95_high"``.
    ``value`` is null where there is no such number; ``text`` then says why.
``noise``
    Sentences: what makes the figures doubtful. Empty after a quiet run.
``notes``
    Sentences: what a reader must know to read the rows.

A row is flat. ``name`` is unique in the report. An object with ``samples`` is a figure, made by `statistics.summary`:
``unit``, ``median``, ``p10``, ``p90``, ``min``, ``max``, ``ci95_low`` and ``ci95_high`` of the median, ``noisy``, and
``samples`` in the order in which they were taken. All else is a parameter or a count, among them ``series`` (rows of
one line in a plot), ``dispatches_per_sample``, ``submits_per_sample``, and ``checked`` (how the result was found
right; null where a row has no result). A figure's name says what it is:

``wall_us...``
    Wall time; ``method.sync`` says whether the wait for the GPU is in it.
``host_cpu_us...``
    CPU time of the calling thread.
``worker_cpu_us...``
    CPU time of our own threads that encode ahead.
``other_cpu_us...``
    CPU time of the other threads of the process, the driver's. On a software adapter the kernels run on them.
``gpu_us...``
    Between two timestamps on the GPU.

Behind it stands per what: ``_per_dispatch``, ``_per_replay`` or the like.
"""

__all__: list[str] = []
