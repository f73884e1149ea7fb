"""`python -m jaxbandit`."""

import sys

from .cli import main

sys.exit(main())
