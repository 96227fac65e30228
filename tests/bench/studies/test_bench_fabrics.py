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


def test_contenders_are_those_of_the_registries():
    found = fabrics.contenders("*")
    assert {"mapper:random", "refiner:swap", "preset:strong"} <= set(found)
    assert set(fabrics.contenders("preset:*")) < set(found)


def test_only_hosts_with_all_adapters_take_part():
    machine = hb.allocate(f"ib:{EXAMPLES}/fabric").machine
    assert fabrics.compute_hosts(machine) == list(machine.known_hosts.names)


def test_the_table_of_the_page_has_all_metrics():
    row = fabrics.run(small_instance(), "mapper:identity", {"method": "identity"}, 0)
    lines = fabrics.markdown([row]).splitlines()
    assert lines[0].startswith("| contender | runs | hop-bytes | MC |")
    assert lines[2].startswith("| `mapper:identity` | 1 | 1.000 (1.00–1.00) | 1.000 (1.00–1.00) | 1.000 |")
    assert len(lines) == 3
