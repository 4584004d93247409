"""The programs that pages show whole: they compile without warnings and run."""

import re

import pytest
from building import LIBRARY, ROOT, run

COMPILERS = {
    "c": ["cc", "-std=c99", f"-I{ROOT}/wrappers/c"],
    "cpp": ["c++", "-std=c++17", f"-I{ROOT}/wrappers/cpp"],
}
# What they print, where it does not depend on the processor.
PRINTED = {"docs/c.md 2": "4.5 9.5 14.5, mean 3.5\n"}


def programs():
    for page in ("README.md", "docs/c.md", "docs/cpp.md"):
        blocks = re.findall(r"```(c|cpp)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
        whole = [block for block in blocks if "int main" in block[1]]
        for number, (language, text) in enumerate(whole, 1):
            yield pytest.param(language, text, id=f"{page} {number}")


@pytest.mark.parametrize("language, text", list(programs()))
def test_program(language, text, tmp_path, request):
    source, program = tmp_path / f"program.{language}", tmp_path / "program"
    source.write_text(text)
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT}/capi/include"]
    run(*COMPILERS[language], *flags, source, "-o", program, *LIBRARY.split(), "-ldumbtorch")
    printed = run(program, at=tmp_path)
    expected = PRINTED.get(request.node.callspec.id)
    assert printed if expected is None else printed == expected
