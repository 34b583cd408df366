"""SFEN boards and USI squares, as far as the helpers need them."""

import re

EMPTY = "."


def cells(text):
    """The squares of a board or of a rank, from file 9; the slashes between ranks are kept."""
    return re.findall(r"\+?[A-Za-z]|[./]", re.sub(r"\d", lambda run: EMPTY * int(run[0]), text))


def text(cells):
    """The reverse of `cells`."""
    joined = "".join(cells)
    for run in range(9, 0, -1):
        joined = joined.replace(EMPTY * run, str(run))
    return joined


def square(usi):
    """The column, from file 9, and the rank of a USI square such as 7g, both from 0."""
    return 9 - int(usi[0]), ord(usi[1]) - ord("a")
