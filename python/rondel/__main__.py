"""`python -m rondel`: the command `rondel`."""

import sys

from rondel_cli.main import main

sys.exit(main())
