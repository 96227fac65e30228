"""Where the interposer is kept: nobody else may put something there that is going to be preloaded."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.errors import mentions
from helpers.paths import executable
from hopbytes.errors import UnsupportedError
from hopbytes.record.interposer import check_private, interposer, is_private_file, steps

AS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="needs to give files to another user")
NOBODY = 12345


@pytest.fixture
def place(tmp_path):
    tmp_path.chmod(0o700)
    folder = tmp_path / "cache" / "hopbytes"
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def test_a_private_folder_is_taken(place):
    check_private(str(place))
    (place.parent.parent / "link").symlink_to(place)
    check_private(str(place.parent.parent / "link"))


@pytest.mark.parametrize("level", [0, 1])
def test_folders_that_others_can_write_to(place, level):
    """The folder, and one above it, which could be exchanged as a whole."""
    [place, place.parent][level].chmod(0o777)
    with pytest.raises(UnsupportedError, match=mentions("chmod go-w", "XDG_CACHE_HOME")):
        check_private(str(place))
    [place, place.parent][level].chmod(0o1777)  # as /tmp: what is ours there nobody else can rename
    if level:
        check_private(str(place))
    else:
        with pytest.raises(UnsupportedError, match="others can write there"):
            check_private(str(place))


@needs_root
def test_folders_of_another_user(place):
    for owned in (place, place.parent):
        os.chown(owned, NOBODY, NOBODY)
        with pytest.raises(UnsupportedError, match=f"{owned}: belongs to user {NOBODY}"):
            check_private(str(place))
        os.chown(owned, 0, 0)
    os.chmod(place, 0o770)
    os.chown(place, 0, NOBODY)
    with pytest.raises(UnsupportedError, match="others can write there"):
        check_private(str(place))


@needs_root
def test_links_of_another_user(place, tmp_path):
    """One in a folder like /tmp, on the way to a folder that is ours."""
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o1777)
    (public / "theirs").symlink_to(place)
    os.lchown(public / "theirs", NOBODY, NOBODY)
    (tmp_path / "ours").symlink_to(public / "theirs")
    with pytest.raises(UnsupportedError, match=f"public/theirs: belongs to user {NOBODY}"):
        check_private(str(tmp_path / "ours"))


def test_the_way_to_a_folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to("../a/./b")
    way = list(steps(str(tmp_path / "a" / "link")))
    assert way[0] == "/"
    a = f"{tmp_path}/a"
    assert way[way.index(f"{a}/link") :] == [f"{a}/link", a, f"{a}/b"]
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(UnsupportedError, match="symbolic links form a cycle"):
        list(steps(str(tmp_path / "round")))


def test_files_that_are_not_taken(place):
    library = place / "x.so"
    assert not is_private_file(str(library))
    executable(library, "")
    assert is_private_file(str(library))
    library.chmod(0o777)
    assert not is_private_file(str(library))
    (place / "link.so").symlink_to(library)
    assert not is_private_file(str(place / "link.so"))


@pytest.fixture
def compiler(tmp_path):
    """A quick one, which makes nothing of its sources; other tests record with what a real one makes."""
    wrapper = tmp_path / "mpicc"
    last = 'for last; do :; done; echo made > "$last"'
    executable(wrapper, f'#!/bin/sh\n[ "$1" = -show ] && exec echo cc\n{last}\n')
    return str(wrapper)


def test_it_is_never_built_where_others_write(place, compiler):
    place.chmod(0o777)
    with pytest.raises(UnsupportedError, match="others can write there"):
        interposer(compiler, place)
    assert list(place.iterdir()) == []


@needs_root
@pytest.mark.parametrize("planted", ["file of another user", "file that others can write to", "link"])
def test_what_somebody_planted_is_built_anew(place, planted, tmp_path, compiler):
    library = interposer(compiler, place)
    good = library.read_bytes()
    library.unlink()
    if planted == "link":
        (tmp_path / "evil").write_text("evil")
        library.symlink_to(tmp_path / "evil")
    else:
        library.write_text("evil")
        library.chmod(0o777 if "write" in planted else 0o755)
        if "user" in planted:
            os.chown(library, NOBODY, NOBODY)
    again = interposer(compiler, place)
    assert again == library
    assert not again.is_symlink()
    assert len(again.read_bytes()) == len(good)
    assert again.stat().st_uid == os.geteuid()
    assert again.stat().st_mode & 0o777 == 0o700
    if planted == "link":
        assert (tmp_path / "evil").read_text() == "evil"


def test_two_at_once(place, compiler):
    """Each builds in a folder of its own; nothing but the library is left."""
    with ThreadPoolExecutor(3) as pool:
        made = {str(path) for path in pool.map(lambda _: interposer(compiler, place), range(3))}
    assert [str(path) for path in place.iterdir()] == list(made)


def test_a_new_folder_is_private(tmp_path, monkeypatch, compiler):
    """Whatever the umask."""
    tmp_path.chmod(0o700)
    before = os.umask(0o022)
    try:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        library = interposer(compiler)
    finally:
        os.umask(before)
    assert library.parent == tmp_path / "cache" / "hopbytes"
    assert library.parent.stat().st_mode & 0o777 == 0o700


def test_a_compiler_that_fails_leaves_nothing(place, tmp_path):
    wrapper = tmp_path / "mpicc"
    executable(wrapper, '#!/bin/sh\n[ "$1" = -show ] || { echo "error: no" >&2; exit 1; }\n')
    with pytest.raises(UnsupportedError, match="cannot build the interposer: error: no"):
        interposer(str(wrapper), place)
    assert list(Path(place).iterdir()) == []
