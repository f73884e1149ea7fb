"""`python -m jaxbandit`."""

import sys

from jaxbandit.cli import main

sys.exit(main())
