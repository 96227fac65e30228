"""How often predictions were right: a table of measured programs, which later measurements replace."""

from __future__ import annotations

from typing import NamedTuple


class Accuracy(NamedTuple):
    """Predicted beside measured ratios of the times of two orders, of `cases` pairs."""

    cases: int
    median_error: float  # of the ratio, relative
    nine_in_ten: float  # nine of ten errors are below this
    wrong: int  # cases that took more than 5 % more or less time, which was predicted the other way round

    def sentence(self) -> str:
        return (
            f"In {self.cases} measured cases half of such predictions were within {self.median_error:.0%} of "
            f"the measured change, and {self.wrong} had the wrong sign."
        ).replace("%", " %")


#: Grade → its accuracy: real MPI between network namespaces of one machine over links of 20 Mbit/s, programs
#: with halos, wavefronts, conjugate gradients, irregular neighbours, molecules and a flow
#: (`python -m bench.lab`). The row of `replay` is that of traces.
MEASURED = {
    "flows": Accuracy(93, 0.06, 0.78, 7),
    "waiting": Accuracy(93, 0.08, 0.24, 0),
    "replay": Accuracy(93, 0.06, 0.19, 1),
}
