"""Prints every file that follows from the schema: `python capi/generate`, or `--check` to compare."""
