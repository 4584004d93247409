"""Writes the C code of the module dumbtorch._native: build_native.py OUTPUT.c (called by CMake).

cffi in API mode: the declarations (native.cdef, native.gen.cdef) say what Python sees, the source
(native.gen.c) holds the shims behind them. cffi's output asks for the stable ABI by itself.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent


def main() -> None:
    ffi = FFI()
    for name in ("native.cdef", "native.gen.cdef"):
        ffi.cdef((HERE / name).read_text())
    ffi.set_source("dumbtorch._native", '#include "native.gen.c"\n', py_limited_api=True)
    output = Path(sys.argv[1])
    output.unlink(missing_ok=True)  # cffi would leave an equal file with its old time stamp
    with contextlib.redirect_stdout(io.StringIO()):
        ffi.emit_c_code(str(output))
    output.write_text(without_second_functions(output.read_text()))


def without_second_functions(c: str) -> str:
    """cffi also writes a function of C around each, which only forwards: its address is as good, and a shim that is
    called in one place becomes part of it."""
    c = re.sub(r"static [^\n]*\b_cffi_d_\w+\([^\n]*\)\n\{\n[^\n]*\n\}\n", "", c)
    return c.replace("(void *)_cffi_d_", "(void *)")


if __name__ == "__main__":
    main()
