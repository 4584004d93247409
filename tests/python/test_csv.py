"""Tables in text, with Python's csv module and float as the truth."""

import csv
import math
import random

import dumbtorch as dt
import pytest
from dumbtorch.utils.data import read_csv


@pytest.fixture
def table(tmp_path):
    """Reads a text as a table."""

    def read(text, *args, **kwargs):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_csv(path, *args, **kwargs)

    return read


TEXT = "a,b,c\n1,2.5,x\n3,-4e2,y\n5,,x\n"


def same(x, rows):
    flat = [[None if math.isnan(v) else v for v in row] for row in x.tolist()]
    assert flat == rows and x.shape[0] == len(rows)


def test_columns(table):
    values, names, labels = table(TEXT, ["b", "a"])
    same(values, [[2.5, 1], [-400, 3], [None, 5]])
    assert names == ["b", "a"] and labels == [] and values.dtype is dt.float32
    values, names, _ = table(TEXT, ["a"], dtype=dt.int64)
    assert values.tolist() == [[1], [3], [5]] and values.dtype is dt.int64
    values, names, _ = table("1,2\n3,4\n", header=False)
    same(values, [[1, 2], [3, 4]])
    assert names == ["0", "1"]
    same(table("1\t2\n", header=False, delimiter="\t")[0], [[1, 2]])
    same(table("1 2\n", header=False, delimiter=" ")[0], [[1, 2]])


def test_categories(table):
    values, names, labels = table(TEXT, ["c", "a"], categories=["c"])
    same(values, [[0, 1], [1, 3], [0, 5]])
    assert names == ["c", "a"] and labels == ["c=x", "c=y"]
    values, names, labels = table(TEXT, ["a", "c"], categories=["c"], one_hot=True, dtype=dt.int64)
    assert values.tolist() == [[1, 1, 0], [3, 0, 1], [5, 1, 0]]
    assert names == ["a", "c=x", "c=y"] and labels == ["c=x", "c=y"]
    text = 'c,d\nb,\nNA,1\na,"x,""y"\n'
    values, names, labels = table(text, categories=["c", "d"])
    same(values, [[1, -1], [-1, 0], [0, 1]])
    assert labels == ["c=a", "c=b", "d=1", 'd=x,"y']
    same(table(text, categories=["d", "c"], one_hot=True)[0],
         [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]])  # fmt: skip


def test_ways_to_write_a_table(table):
    for text in ("\ufeff\n a ,b\n1,2\n\n\n3 , 4", "\r\n a ,b\r\n1,2\r\n\r\n3 , 4\r\n",
                 '" a ","b"\n"1","2"\n3,"4 "\n'):  # fmt: skip
        values, names, _ = table(text)
        same(values, [[1, 2], [3, 4]])
        assert names == [" a ", "b"]
    values, names, _ = table('"a\nb","x""y"\n1,2\n')
    assert names == ["a\nb", 'x"y'] and values.tolist() == [[1, 2]]
    values, names, _ = table("a,b\n")
    assert values.shape == (0, 2) and names == ["a", "b"]


NUMBERS = ["0", "-0", "1", "+1", "-1.5", ".5", "5.", "1e3", "1E-3", "1e+3", "123456789012345678",
           "0.1", "9007199254740993", "1e22", "1e23", "1.7976931348623157e308", "1e400", "-1e400",
           "1e-400", "5e-324", "2.2250738585072011e-308", "inf", "-inf", "Infinity",
           "0.000000000000000000000000000000000000000000000000000001", "3" * 400 + "e-400",
           "0." + "1" * 300, "8.41429e-17", "1234567.8901234567"]  # fmt: skip


def test_numbers_are_python_s(table):
    chance = random.Random(1)
    for _ in range(3000):
        NUMBERS.append(repr(math.ldexp(chance.uniform(-1, 1), chance.randrange(-200, 200))))
        NUMBERS.append(
            f"{chance.uniform(-1, 1) * 10 ** chance.randrange(8):.{chance.randrange(20)}f}"
        )
    values = table("\n".join(["x", *NUMBERS]), dtype=dt.float64)[0].flatten().tolist()
    expected = [float(n) for n in NUMBERS]
    assert [math.copysign(1, v) for v in values] == [math.copysign(1, v) for v in expected]
    assert values == expected
    whole = ["0", "+5", "-9223372036854775808", "9223372036854775807"]
    assert table("\n".join(whole), header=False, dtype=dt.int64)[0].flatten().tolist() == [
        int(n) for n in whole
    ]


def test_missing(table):
    words = [
        "",
        "NA",
        "N/A",
        "n/a",
        "NaN",
        "nan",
        "null",
        "NULL",
        "None",
        "none",
        "?",
        " NA ",
        '""',
    ]
    values, _, _ = table("a,b\n" + "".join(f"{w},1\n" for w in words))
    same(values, [[None, 1]] * len(words))
    with pytest.raises(OSError, match=r"line 3, column 2 'b': there is no number"):
        table("a,b\n1,2\n3,\n", dtype=dt.int64)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n\n3,x\n", r"table\.csv', line 4, column 2 'b': 'x' is no number"),
        ("a,b\n1,2 3\n", r"line 2, column 2 'b': '2 3' is no number"),
        ("a,b\n1,2,3\n", r"line 2, column 3: the line goes on, but the table has 2 columns"),
        ("a,b\n1\n", r"line 2, column 1 'a': the line ends, but the table has 2 columns"),
        ('a,b\n"1\n2",2\n1,"2', r"line 2, column 1 'a': '1\n2' is no number"),
        ('a,b\n1,"2', r"line 2, column 2 'b': a quote is not closed"),
        ('a,b\n1,"2"3\n', r"line 2, column 2 'b': a quote is not closed, or stands within"),
        ('a,b\n1,2"3\n', r"line 2, column 2 'b': a quote is not closed, or stands within"),
        ("a,b\n1,0x10\n", r"'0x10' is no number"),
        ("a,b\n1,--1\n", r"'--1' is no number"),
        ("a,b\n1,1e\n", r"'1e' is no number"),
        ("a,b\n1,+-1\n", r"'\+-1' is no number"),
        ("a,b\n1,.\n", r"'\.' is no number"),
        ("a,b\n1\r2,3\n", r"line 2, column 1"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        (b"a,\xff\n1,2\n", "no text in UTF-8"),
        (b"a,b\0\n1,2\n", "no text in UTF-8"),
        ("a,b\n1,\0\n", "is no number"),
    ],
)
def test_what_is_no_table(table, text, words):
    with pytest.raises(OSError, match=words):
        table(text)


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("word", [b"\xff", b"x\0y", b"\xed\xa0\x80"])
def test_words_that_are_no_text(table, word, one_hot):
    with pytest.raises(OSError, match="no text in UTF-8"):
        table(b"a,b\n1," + word + b"\n", categories=["b"], one_hot=one_hot)


def test_wrong_arguments(table):
    with pytest.raises(IndexError, match="does not contain column 'd'"):
        table(TEXT, ["d"])
    with pytest.raises(IndexError, match="does not contain column 'd'"):
        table(TEXT, ["a"], categories=["d"])
    with pytest.raises(ValueError, match="'c' of categories is not wanted"):
        table(TEXT, ["a"], categories=["c"])
    with pytest.raises(ValueError, match="wanted twice"):
        table(TEXT, ["a", "a"])
    with pytest.raises(ValueError, match="no column is wanted"):
        table(TEXT, [])
    for delimiter in ("", ",,", '"', "\n", "1", "."):
        with pytest.raises(ValueError, match="is no delimiter"):
            table(TEXT, delimiter=delimiter)
    with pytest.raises(NotImplementedError, match="not as int32"):
        table(TEXT, dtype=dt.int32)
    with pytest.raises(OSError, match="'1.5' is no whole number"):
        table("a\n1.5\n", dtype=dt.int64)
    with pytest.raises(OSError, match="is no whole number"):
        table("a\n9223372036854775808\n", dtype=dt.int64)


def test_many_lines(table, tmp_path):
    """Several threads read pieces of the file, whose ends lie within quotes, lines and words."""
    chance, rows = random.Random(2), []
    for i in range(60_000):
        word = chance.choice(['a,"b"\n', "plain", 'long\n"\n"' * 20, "x\r\ny"])
        rows.append([i, word, chance.choice([-1.5, 2]), chance.choice("pqr")])
    with open(tmp_path / "rows", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["i", "word", "n", "kind"], *rows])
    text = (tmp_path / "rows").read_bytes()
    assert len(text) > 3 << 20
    words = sorted({row[1] for row in rows})
    values, _, labels = table(text, categories=["word", "kind"])
    assert labels == [f"word={w}" for w in words] + ["kind=p", "kind=q", "kind=r"]
    assert values.tolist() == [
        [i, words.index(word), n, "pqr".index(kind)] for i, word, n, kind in rows
    ]
    at = text.index(b"50000,")
    line = text[:at].count(b"\n") + 1
    with pytest.raises(OSError, match=rf"line {line}, column 1 'i': 'x' is no number"):
        table(text.replace(b"\n50000,", b"\nx,"), ["i"])


def test_a_quote_that_never_ends(table):
    with pytest.raises(OSError, match="line 2, column 1 'a': a quote is not closed"):
        table('a\n"' + "x\n" * 3_000_000)
