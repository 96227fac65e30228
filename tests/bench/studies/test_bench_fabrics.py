"""The comparison on real fabrics, on the small one in examples."""

import hopbytes as hb
from bench import ROOT
from bench.studies import fabrics

EXAMPLES = ROOT / "examples"


def small_instance():
    where = hb.allocate(f"ib:{EXAMPLES}/fabric / core:8")
    return fabrics.Instance("small", "lammps", "first", where, hb.read(EXAMPLES / "lammps_lj_64.csv"))


def test_in_order_against_in_order():
    row = fabrics.run(small_instance(), "mapper:identity", {"method": "identity"}, 0)
    assert row["metrics"]["hop_bytes"] > 0
    assert {k: v for k, v in row["metrics"].items() if k != "hybrid"} == {
        k: v for k, v in row["in_order"].items() if k != "hybrid"
    }
    text = fabrics.table([row])
    assert text.splitlines()[1].count("1.000 ( 1.00- 1.00)") >= 6


def test_errors_are_rows():
    row = fabrics.run(small_instance(), "mapper:none", {"method": "none"}, 0)
    assert "unknown method" in row["error"]
    assert "unknown method" in fabrics.table([row])
