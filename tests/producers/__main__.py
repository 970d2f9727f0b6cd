"""Run the producers: `python tests/producers [TOOL...] [--cache FOLDER] [--keep]`."""

import sys
from pathlib import Path

# The scripts have the names of the packages that they import (garak.py imports garak), so their folder leaves the path.
HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
sys.path.insert(0, str(HERE.parent))

from producers._run import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
