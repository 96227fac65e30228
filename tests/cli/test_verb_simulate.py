"""The verb ``simulate``: its table, its record, and wrong use."""

import json

SLOW = "node:4@10:bw=1e9:lat=1e-6 core:2@1:bw=1e10:lat=1e-7"


def test_the_launchers_order_and_two_mappings(hopbytes):
    for mapper in ("identity", "random"):
        words = ("map", "stencil:4x2", "--on", SLOW, "--mapper", mapper, "-o", f"{mapper}.json")
        assert hopbytes(*words).returncode == 0
    done = hopbytes("simulate", "stencil:4x2", "identity.json", "random.json", "--grade", "bound", code=0)
    rows = done.stdout.splitlines()
    assert [row.split()[0] for row in rows[2:5]] == ["in", "identity.json", "random.json"]
    assert "+0.0%" in rows[3]
    assert "lower bounds" in rows[0]


def test_the_record_says_what_was_assumed(hopbytes):
    done = hopbytes("simulate", "stencil:4x2", "--on", "node:4 core:2", "--grade", "bound", "--json")
    record = json.loads(done.stdout)
    assert record["grade"] == "bound"
    assert record["predictions"][0]["mapping"] == "in order (fill)"
    assert any("hdr100" in notice and "--assume" in notice for notice in record["notices"])
    assert all(notice in done.stderr for notice in record["notices"])


def test_the_platform_is_that_of_the_launchers_order(hopbytes, tmp_path):
    (tmp_path / "m.txt").write_text("4\n5\n6\n7\n")  # nodes 2 and 3; in order on nodes 0 and 1
    hopbytes("simulate", "stencil:4", "m.txt", "--on", SLOW, "--platform", "p.xml", code=0)
    text = (tmp_path / "p.xml").read_text()
    assert ['id="n0"' in text, 'id="n2"' in text] == [True, False]


def test_a_mapping_of_the_pattern_fits_the_trace_of_the_same_run(hopbytes, tmp_path):
    """The pattern has the messages of collectives, which the trace has as calls; as many tasks are needed."""
    pattern = "0 1 1000\n1 0 8\n2 3 1000\n3 2 8\n0 2 8\n"
    (tmp_path / "app.edges").write_text(pattern)
    acts = []
    for rank in range(4):
        other = rank ^ 1
        step = f"{rank} send {other} 0 1000 6" if rank % 2 == 0 else f"{rank} recv {other} 0 1000 6"
        acts += [f"{rank} init", step, f"{rank} allreduce 8 0 6", f"{rank} finalize"]
    (tmp_path / "app.ti").write_text("\n".join(acts) + "\n")
    assert hopbytes("map", "app.edges", "--on", SLOW, "-o", "placed.json").returncode == 0
    done = hopbytes("simulate", "app.ti", "placed.json", "--grade", "bound", code=0)
    assert "placed.json was made for another pattern of as many tasks" in done.stderr
    assert "placed.json" in done.stdout
    hopbytes("map", "app.ti", "--on", SLOW, "-o", "of_trace.json", code=0)
    assert "another pattern" not in hopbytes("simulate", "app.ti", "of_trace.json", "--grade", "bound").stderr
    (tmp_path / "other.edges").write_text("0 1 5\n")
    for given in (("app.edges", "of_trace.json"), ("other.edges", "placed.json")):
        done = hopbytes("simulate", *given)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
