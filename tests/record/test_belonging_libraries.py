"""A second MPI library that ranks found loaded, explained without starting anything."""

import pytest

from hopbytes.launch.command import LaunchCommand
from hopbytes.record.application import explain_two_libraries


@pytest.fixture(autouse=True)
def launchers(tmp_path, monkeypatch):
    """Programs that only say who they are."""
    for name, text in (("mpirun", "mpirun (Open MPI) 5.0.3"), ("srun", "slurm 24.05")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("words", "theirs", "expected"),
    [
        ("mpirun -n 2 ./halo", "libmpi.so.12", "mpirun starts programs of Open MPI"),
        ("mpirun -n 2 ./halo", "libmpi.so.40", "expected the compiler of its MPI"),
        ("srun -n 2 ./halo", "libmpi.so.12", "expected the compiler of its MPI"),  # starts programs of any
    ],
)
def test_a_second_mpi_library_is_explained(tmp_path, words, theirs, expected):
    (tmp_path / "clash.0").write_text(f"/opt/theirs/{theirs}\n")
    said = explain_two_libraries(str(tmp_path), LaunchCommand.parse(words.split()), "")
    assert expected in said
    assert f"/opt/theirs/{theirs}" in said
