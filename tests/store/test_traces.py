"""Words are found in a file wherever they stand, and only if they do."""

import random

from recollect.store.sqlite import traces


def test_every_piece_is_found_at_every_place(tmp_path, monkeypatch):
    monkeypatch.setattr(traces, "_BLOCK", 1024)
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
            assert traces.pieces_in(file, pieces) == {piece}


def test_nothing_is_found_where_nothing_is(tmp_path):
    file = tmp_path / "file"
    assert traces.pieces_in(file, ["secret word"]) == set()
    file.write_bytes(b"")
    assert traces.pieces_in(file, ["secret word"]) == set()
    file.write_bytes(b"secret wor")
    assert traces.pieces_in(file, ["secret word", "secrets"]) == set()
    assert traces.pieces_in(file, []) == set()


def test_texts_are_cut_into_pieces_that_tell_something():
    text = "x" * 47 + "y" * 50
    assert traces.pieces_of([text, "ok", "hunter2", text]) == [text[:48], text[48:96], "hunter2"]
