"""`python capi/generate [--check]` runs this folder; it becomes the package `generate` here."""

import pathlib
import sys

if not __package__:
    # The folder itself must not be on the path: its modules are named after languages.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from generate.cli import main

sys.exit(main())
