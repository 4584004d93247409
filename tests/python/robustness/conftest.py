"""What may go wrong around the library: forks, empty memory, hostile files, threads, deep graphs.

A test that could take the interpreter down with it runs its code in a process of its own.
"""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def python():
    """python(code, *args, VARIABLE=value): what the code prints; it must end well."""

    def run(code, *args, timeout=120, **environment):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, args)],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
