"""A platform for SimGrid's SMPI whose latencies and bandwidths are known, measured and compared.

``python -m bench.studies.simulated_machine`` (Debian's libsimgrid-dev has smpirun and smpicc).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.rivals.needed import need

#: Level → (latency in seconds, bandwidth in bytes per second) of the one link between two cores.
TRUE = {"node": (2e-6, 1e9), "package": (300e-9, 6e9), "core": (100e-9, 10e9)}
MACHINE = "node:2 package:2 core:2"
#: Messages take latency + size / bandwidth exactly: no corrections for protocols or acknowledgements.
PLAIN = (
    "--cfg=smpi/simulate-computation:no", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:no",
    "--cfg=network/TCP-gamma:0", "--cfg=network/weight-S:0", "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1", "--log=root.thresh:error",
)  # fmt: skip


def level_of(a: int, b: int) -> str:
    """Level at which two of the eight cores first differ."""
    return "node" if a // 4 != b // 4 else "package" if a // 2 != b // 2 else "core"


def write_platform(folder: Path) -> list[str]:
    """Write the platform and its hosts (one per core); return the command that starts eight ranks there."""
    rows = [f'<host id="c{core}" speed="1Gf"/>' for core in range(8)]
    routes = []
    for a in range(8):
        for b in range(a + 1, 8):
            latency, bandwidth = TRUE[level_of(a, b)]
            rows.append(f'<link id="l{a}_{b}" bandwidth="{bandwidth}Bps" latency="{latency}s"/>')
            routes.append(f'<route src="c{a}" dst="c{b}"><link_ctn id="l{a}_{b}"/></route>')
    head = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    body = "\n".join([*rows, *routes])
    text = f'{head}\n<platform version="4.1"><zone id="z" routing="Full">\n{body}\n</zone></platform>\n'
    (folder / "platform.xml").write_text(text)
    (folder / "hosts").write_text("".join(f"c{core}\n" for core in range(8)))
    return [
        "smpirun", "-np", "8", "-platform", str(folder / "platform.xml"), "-hostfile", str(folder / "hosts"),
        *PLAIN,
    ]  # fmt: skip


def main() -> None:
    """Print measured values beside true ones."""
    import hopbytes as hb
    from hopbytes.launch.measure import measure

    need("smpirun")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(write_platform(Path(folder)), hb.allocate(MACHINE), compiler="smpicc")
    print("level    latency us: true  measured  error   bandwidth GB/s: true  measured  error")
    for name, fit in found.fits.items():
        latency, bandwidth = TRUE[name]
        print(
            f"{name:<8} {latency * 1e6:>16.3f} {fit.latency * 1e6:>9.3f} {fit.latency / latency - 1:>6.2%}"
            f" {bandwidth / 1e9:>22.2f} {fit.bandwidth / 1e9:>9.2f} {fit.bandwidth / bandwidth - 1:>6.2%}"
        )


if __name__ == "__main__":
    main()
