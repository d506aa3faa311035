"""`python -m cmdgraph` is the command `cmdgraph`."""

import sys

from cmdgraph.cli import main

sys.exit(main())
