"""torch.__config__: what the library was built with."""

from . import _ops


def show() -> str:
    """The library's version, its compiler, the instructions in use and the optional parts."""
    return _ops.build_info()


def parallel_info() -> str:
    """How many threads work."""
    return f"threads: {_ops.get_num_threads()}\n"
