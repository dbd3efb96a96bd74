"""Words are found in a file wherever they stand, and only if they do."""

import random

from recollect.store.sqlite import leak_search


def test_every_piece_is_found_at_every_place(tmp_path, monkeypatch):
    monkeypatch.setattr(leak_search, "_BLOCK", 1024)
    rng = random.Random(1)
    file = tmp_path / "file"
    pieces = [
        "secret",
        "pin 4711",
        "Grüße aus Zürich",
        "🐕" * 48,
        *("".join(rng.choices("abcd ", k=48)) for _ in range(99)),
    ]
    for place in (0, 1, 7, 900, 1000, 1020, 1023, 1024, 2047, 3000):
        for piece in rng.sample(pieces, 5) + pieces[:4]:
            content = bytearray(rng.randbytes(3300))
            content[place : place + len(piece.encode())] = piece.encode()
            file.write_bytes(content)
            assert leak_search.find_pieces(file, pieces) == {piece}


def test_nothing_is_found_where_nothing_is(tmp_path):
    file = tmp_path / "file"
    assert leak_search.find_pieces(file, ["secret word"]) == set()
    file.write_bytes(b"")
    assert leak_search.find_pieces(file, ["secret word"]) == set()
    file.write_bytes(b"secret wor")
    assert leak_search.find_pieces(file, ["secret word", "secrets"]) == set()
    assert leak_search.find_pieces(file, []) == set()


def test_texts_are_cut_into_pieces_that_tell_something():
    text = "x" * 47 + "y" * 50
    assert leak_search.split_pieces([text, "ok", "hunter2", text]) == [text[:48], text[48:96], "hunter2"]
