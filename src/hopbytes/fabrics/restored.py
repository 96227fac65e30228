"""Forwarding tables in which a LID occurs twice: the port GUIDs tell to whom the rows belong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.fabrics.ibtables import DoubtfulRow, SwitchTable
from hopbytes.fabrics.survey import Device, Survey


def restored_tables(survey: Survey, tables: Sequence[SwitchTable]) -> tuple[list[SwitchTable], list[str]]:
    """Give rows whose LID stands in several rows of a table the LID that belongs to their port GUID."""
    if not any(table.doubtful for table in tables):
        return list(tables), []
    owners = {device.guid: device for device in survey.devices.values() if device.guid and device.lid}
    done, notices = [], []
    for table in tables:
        if table.doubtful:
            first = table.doubtful[0]
            notices.append(
                f"{table.path}:{first.line}: LID 0x{first.lid:04x} stands in several rows: "
                f"the addresses of {len(table.doubtful)} rows were taken from their port GUIDs"
            )
        done.append(_restored(table, owners))
    return done, notices


def _restored(table: SwitchTable, owners: dict[int, Device]) -> SwitchTable:
    ports = dict(zip(table.lids.tolist(), table.ports.tolist(), strict=True))
    for row in table.doubtful:
        lid = _lid_of(table, row, owners)
        if ports.setdefault(lid, row.port) != row.port:
            what = f"LID 0x{lid:04x} (port GUID 0x{row.guid:016x}) leaves by port {row.port}"
            raise FormatError(table.path, row.line, f"{what}, but by port {ports[lid]} in another row")
    lids = np.array(list(ports), np.int64)
    return dataclasses.replace(
        table, lids=lids, ports=np.array(list(ports.values()), np.uint8), doubtful=()
    )


def _lid_of(table: SwitchTable, row: DoubtfulRow, owners: dict[int, Device]) -> int:
    owner = owners.get(row.guid)
    if owner is None or owner.lmc:
        why = "is not in the discovery file" if owner is None else f"has {2**owner.lmc} addresses"
        raise FormatError(
            table.path, row.line,
            f"LID 0x{row.lid:04x} stands in several rows of the table, and port GUID 0x{row.guid:016x} of "
            f"this one {why}, expected each LID once: run ibroute again, or take routes=shortest",
        )
    return owner.lid
