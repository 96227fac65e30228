"""hwloc files of nodes with devices."""

from collections.abc import Iterable, Sequence

AMD, NVIDIA, INTEL = "1200 [1002:74a0]", "0302 [10de:2330]", "0380 [8086:0bd5]"
ADAPTER = "0207 [15b3:1019]"


def node(*packages: Iterable[tuple[str, Sequence[str]]], pus: int = 4) -> str:
    """Return a file: each package has `pus` cores of one thread and PCI devices, kind and names of each."""

    def start(kind: str, index: int, first: int, count: int) -> str:
        return f'<object type="{kind}" os_index="{index}" cpuset="0x{((1 << count) - 1) << first:x}">'

    text = f'<topology version="2.0">{start("Machine", 0, 0, pus * len(packages))}'
    number = 0
    for package, devices in enumerate(packages):
        text += start("Package", package, package * pus, pus)
        for pu in range(package * pus, (package + 1) * pus):
            text += f"{start('Core', pu, pu, 1)}{start('PU', pu, pu, 1)}</object></object>"
        for at, (kind, names) in enumerate(devices, 2):
            bus = f'pci_busid="{package:04x}:{at:02x}:00.0"'
            text += f'<object type="PCIDev" gp_index="{(number := number + 1)}" {bus} pci_type="{kind}">'
            what = 3 if kind == ADAPTER else 5
            text += "".join(f'<object type="OSDev" name="{name}" osdev_type="{what}"/>' for name in names)
            text += "</object>"
        text += "</object>"
    return text + "</object></topology>"
