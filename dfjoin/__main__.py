"""``python -m dfjoin``."""

import sys

from dfjoin.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
