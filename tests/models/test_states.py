"""States in a folder: written whole, believed only where they are what was written, bounded, and gone when erased."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file

from recollect.errors import InvalidInput
from recollect.models.languages import _state_file
from recollect.models.languages._state_file import TensorShape, compute_checksum, compute_file_size
from recollect.models.languages.states import LoadedState, StateFolder, StateKey
from recollect.store.sqlite.state_folders import erase_states

LAYERS, HEADS, LENGTH = 2, 3, 4
KEY = StateKey(model="m", dtype="F32", tokens=(5, 6, 7, 8, 9))
ABOUT = KEY.describe(LAYERS)


def layers_of(key: StateKey, seed: int = 0) -> tuple[list[TensorShape], list[np.ndarray]]:
    random = np.random.default_rng(seed)
    lengths = (1, HEADS, len(key.tokens), LENGTH)
    names = [f"{kind}.{layer}" for layer in range(LAYERS) for kind in ("keys", "values")]
    shapes = [TensorShape(name=name, dtype=key.dtype, lengths=lengths) for name in names]
    return shapes, [random.integers(0, 256, shape.size, dtype=np.uint8) for shape in shapes]


SIZE = compute_file_size(layers_of(KEY)[0], ABOUT)


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "ada.states")


def put(folder: StateFolder, key: StateKey = KEY, seed: int = 0) -> Path:
    place = folder.locate()
    assert place is not None
    assert folder.save(place, key, *layers_of(key, seed)) == ""
    return place / f"{key.digest}.safetensors"


def get(folder: StateFolder, key: StateKey = KEY, layers: int = LAYERS) -> LoadedState:
    place = folder.locate()
    assert place is not None
    return folder.load(place, key, layers)


# ---- the file


def test_a_state_comes_back_as_it_was_kept(folder):
    path = put(folder)
    found = get(folder)
    assert found.note == ""
    assert [tensor.shape for tensor in found.tensors] == layers_of(KEY)[0]
    for tensor, data in zip(found.tensors, layers_of(KEY)[1], strict=True):
        assert np.array_equal(tensor.data, data)
    assert path.stat().st_size == SIZE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_file_is_one_that_the_package_reads(folder):
    path = put(folder)
    shapes, data = layers_of(KEY)
    loaded = load_file(path)
    assert sorted(loaded) == sorted(shape.name for shape in shapes)
    for shape, one in zip(shapes, data, strict=True):
        assert np.array_equal(loaded[shape.name].view(np.uint8).reshape(-1), one)
        assert loaded[shape.name].shape == shape.lengths
    with safe_open(path, framework="np") as file:
        assert file.metadata().items() >= ABOUT.items()


def test_a_type_that_numpy_does_not_have_goes_through(folder):
    key = StateKey(model="m", dtype="BF16", tokens=KEY.tokens)
    put(folder, key)
    assert {tensor.shape.dtype for tensor in get(folder, key).tensors} == {"BF16"}


def test_more_or_fewer_bytes_than_told_are_refused(folder):
    shapes, data = layers_of(KEY)
    place = folder.locate()
    with pytest.raises(ValueError, match=r"keys.0 has 239 bytes, not 240"):
        folder.save(place, KEY, shapes, [data[0][:-1], *data[1:]])
    assert get(folder) == LoadedState()


@given(
    st.integers(1, 300_000).flatmap(
        lambda size: st.tuples(st.just(size), st.integers(0, size - 1), st.integers(1, 255), st.integers(0, 9))
    )
)
def test_a_checksum_is_another_one_for_any_byte_that_changes(case):
    size, place, flip, seed = case
    data = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    before = compute_checksum(data)
    data[place] ^= flip
    assert compute_checksum(data) != before
    data[place] ^= flip
    assert compute_checksum(data) == before


def test_a_checksum_worked_out_by_hand():
    data = np.zeros(19, dtype=np.uint8)
    data[0], data[8], data[16] = 2, 3, 1  # two words and a rest of three bytes
    assert compute_checksum(data) == 3 * (2 * 1 + 3 * 3) + 1 + 19


def test_a_checksum_tells_of_words_that_changed_places():
    data = np.arange(2_000_000, dtype=np.uint8)
    swapped = data.copy()
    swapped[:4096], swapped[-4096:] = data[-4096:], data[:4096]
    assert compute_checksum(swapped) != compute_checksum(data)
    assert compute_checksum(np.zeros(8, np.uint8)) != compute_checksum(np.zeros(16, np.uint8))


# ---- damage


@pytest.mark.parametrize("place", [0, 9, 40, SIZE // 2, SIZE - 1])
def test_a_byte_that_changed_is_noticed_and_the_file_removed(folder, place):
    path = put(folder)
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    found = get(folder)
    assert found.tensors == ()
    assert found.note.startswith("a kept state could not be used, and the model read its text again: ")
    assert not path.exists()
    put(folder)
    assert get(folder).tensors


@pytest.mark.parametrize("length", [0, 7, 100, SIZE - 1, SIZE + 1])
def test_a_file_of_another_length_is_noticed(folder, length):
    path = put(folder)
    path.write_bytes((path.read_bytes() + b"x")[:length])
    assert "cut short" in get(folder).note
    assert not path.exists()


@pytest.mark.parametrize(
    "text", [b"[]", b"{}", b"null", b"{{", b"[" * 3000, b'{"__metadata__":{"a":1},"k":{"dtype":"X"}}']
)
def test_a_header_that_makes_no_sense_is_noticed(folder, text):
    path = put(folder)
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    assert "header" in get(folder).note


def test_a_file_under_the_name_of_another_state_is_not_believed(folder):
    other = StateKey(model="m", dtype="F32", tokens=(5, 6, 7, 8, 1))
    path = put(folder, other)
    path.rename(path.with_name(f"{KEY.digest}.safetensors"))
    assert "another state" in get(folder).note


def test_a_state_of_other_layers_is_not_believed(folder):
    put(folder)
    assert "another state" in get(folder, layers=3).note


def test_a_state_whose_tensors_do_not_fit_its_key_is_not_believed(folder, monkeypatch):
    place = folder.locate()
    shapes, data = layers_of(KEY)
    folder.save(place, KEY, [*shapes[:-1], TensorShape(name="values.1", dtype="F32", lengths=(1, 3, 4, 5))], data)
    assert "for 5 tokens" in get(folder).note
    folder.save(place, KEY, [*shapes[:-1], TensorShape(name="values.2", dtype="F32", lengths=(1, 3, 5, 4))], data)
    assert "layers" in get(folder).note


def test_a_file_that_cannot_be_read_is_told_of(folder):
    path = put(folder)
    path.unlink()
    path.mkdir()
    assert "could not be used" in get(folder).note


# ---- keys


@pytest.mark.parametrize(
    "other",
    [
        StateKey(model="n", dtype="F32", tokens=KEY.tokens),
        StateKey(model="m", dtype="F16", tokens=KEY.tokens),
        StateKey(model="m", dtype="F32", tokens=(5, 6, 7, 8)),
        StateKey(model="m", dtype="F32", tokens=(5, 6, 7, 9, 8)),
        StateKey(model="m", dtype="F32", tokens=(*KEY.tokens, 1)),
    ],
)
def test_what_a_state_depends_on_names_it(folder, other):
    put(folder)
    assert get(folder, other) == LoadedState()
    assert get(folder).tensors


# ---- room


def keys(count: int) -> list[StateKey]:
    return [StateKey(model="m", dtype="F32", tokens=(1, 2, 3, 4, number)) for number in range(count)]


def test_states_stay_within_their_bytes_and_the_longest_unused_give_way(tmp_path):
    folder = StateFolder(tmp_path / "s", max_bytes=3 * SIZE)
    first, second, third, fourth = keys(4)
    for age, key in enumerate((first, second, third)):
        path = put(folder, key)
        os.utime(path, (1_000 + age, 1_000 + age))
    assert get(folder, first).tensors  # used now, and so the youngest
    put(folder, fourth)
    assert get(folder, second) == LoadedState()
    assert all(get(folder, key).tensors for key in (first, third, fourth))
    assert sum(file.stat().st_size for file in folder.locate().iterdir()) <= 3 * SIZE


def test_many_states_never_take_more_than_their_bytes(tmp_path):
    folder = StateFolder(tmp_path / "s", max_bytes=2 * SIZE + SIZE // 2)
    for key in keys(12):
        place = put(folder, key).parent
        assert sum(file.stat().st_size for file in place.iterdir()) <= folder.max_bytes
    assert get(folder, keys(12)[-1]).tensors


def test_a_state_that_is_too_large_is_not_kept_and_said_so(tmp_path):
    folder = StateFolder(tmp_path / "s", max_bytes=SIZE - 1)
    note = folder.save(folder.locate(), KEY, *layers_of(KEY))
    assert note == f"a state of {SIZE:,} bytes was not kept, since all of them may take {SIZE - 1:,}"
    assert list(folder.locate().iterdir()) == []


def test_a_bound_of_nothing_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="at least"):
        StateFolder(tmp_path, max_bytes=0)


def test_what_a_killed_process_left_half_written_goes(folder):
    place = folder.locate()
    old, young = place / "a.part", place / "b.part"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    put(folder)
    assert not old.exists()
    assert young.exists()


def test_a_full_disk_is_told_of_and_leaves_nothing_half(folder, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("recollect.models.languages.states.write_tensors", full)
    place = folder.locate()
    assert folder.save(place, KEY, *layers_of(KEY)) == "a state could not be kept: [Errno 28] No space left on device"
    assert list(place.iterdir()) == []


def test_where_no_folder_can_be_made_no_state_is_kept(tmp_path):
    (tmp_path / "file").write_text("")
    assert StateFolder(tmp_path / "file" / "s").locate() is None
    assert StateFolder(tmp_path / "nowhere" / "s").locate() is None


# ---- erased


def test_who_began_before_the_folder_was_erased_writes_nothing_into_it(tmp_path):
    bank = tmp_path / "ada.bank"
    folder = StateFolder(tmp_path / "ada.states", quiet_s=0.0)
    before = folder.locate()
    put(folder)
    assert erase_states(bank, remain=True) == ()
    os.utime(folder.folder, (1, 1))
    after = folder.locate()
    assert after not in (None, before)
    assert folder.save(before, KEY, *layers_of(KEY)) == ""
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert folder.load(before, KEY, LAYERS) == LoadedState()


def test_who_is_writing_while_the_folder_is_erased_leaves_nothing(tmp_path):
    bank, folder = tmp_path / "ada.bank", StateFolder(tmp_path / "ada.states")
    shapes, data = layers_of(KEY)

    def erased_meanwhile():
        yield data[0]
        assert erase_states(bank, remain=True) == ()
        yield from data[1:]

    assert folder.save(folder.locate(), KEY, shapes, erased_meanwhile()) == ""
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_for_a_while_after_it_was_erased_no_state_is_kept(tmp_path):
    folder = StateFolder(tmp_path / "ada.states")
    put(folder)
    erase_states(tmp_path / "ada.bank", remain=True)
    assert folder.locate() is None
    minutes = time.time() - 599
    os.utime(folder.folder, (minutes, minutes))
    assert folder.locate() is None
    erase_states(tmp_path / "ada.bank", remain=True)  # begins the time anew
    assert time.time() - folder.folder.stat().st_mtime < 60
    os.utime(folder.folder, (minutes - 2, minutes - 2))
    assert folder.locate() is not None


def test_several_who_begin_at_once_agree_on_a_place(tmp_path):
    one, other = StateFolder(tmp_path / "s"), StateFolder(tmp_path / "s")
    assert one.locate() == other.locate() == one.locate()
    (tmp_path / "s" / "0").mkdir()  # as if another process had been as fast
    assert one.locate() == other.locate() == tmp_path / "s" / "0"


# ---- processes

PROGRAM = """
import sys
import numpy as np
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_states import LAYERS, layers_of, keys
from recollect.models.languages.states import StateFolder
folder = StateFolder(Path(sys.argv[1]), max_bytes=int(sys.argv[3]))
for turn in range(40):
    for key in keys(6):
        place = folder.locate()
        found = folder.load(place, key, LAYERS)
        assert not found.note, found.note
        if found.tensors:
            assert all(np.array_equal(t.data, d) for t, d in zip(found.tensors, layers_of(key)[1]))
        else:
            assert folder.save(place, key, *layers_of(key)) == ""
"""


def test_processes_share_a_folder_and_its_bound(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "s"), str(Path(__file__).parent), str(4 * SIZE)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
    place = StateFolder(tmp_path / "s").locate()
    files = list(place.iterdir())
    assert {file.suffix for file in files} == {".safetensors"}
    assert 0 < sum(file.stat().st_size for file in files) <= 4 * SIZE


def test_tensors_larger_than_a_block_come_back_too(tmp_path, monkeypatch):
    monkeypatch.setattr(_state_file, "_BLOCK_WORDS", 8)
    folder = StateFolder(tmp_path / "s")
    put(folder)
    assert get(folder).tensors
