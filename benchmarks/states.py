"""Going on from a kept state against reading a segment anew: ``python -m benchmarks.states --shape tiny``.

A segment's keys and values are kept in a file (E-mem, 3.5, equation 9). What that saves is the time to the first token
of an answer: the segment is not read again, its state is. Weights are random, since what they say takes no longer than
what sense would; their shape is that of a real model. Needs numpy, torch and transformers, and from a bare checkout
``PYTHONPATH=src``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.machine import hand_over, peak_rss_mb
from recollect.models.languages._chat_template import TokenizedPrompt
from recollect.models.languages._transformer import StateLocation, TransformerModel
from recollect.models.languages.states import StateFolder
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.reports.provenance import gather_provenance
from recollect_lab.reports.table import align_columns

Row = dict[str, float | bool]

QUESTION_TOKENS: Final = 64
SHOWN: Final = ("tokens", "state_mb", "reencode_s", "keep_s", "restore_s", "restore_cold_s", "load_s", "speedup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model of Qwen3's kind: what decides how long it reads, and how large its states are."""

    layers: int
    hidden: int
    heads: int
    key_heads: int
    head_length: int
    intermediate: int
    vocabulary: int


SHAPES: Final[Mapping[str, Shape]] = {
    "4b": Shape(  # Qwen3-4B's
        layers=36,
        hidden=2560,
        heads=32,
        key_heads=8,
        head_length=128,
        intermediate=9728,
        vocabulary=151_936,
    ),
    "small": Shape(layers=8, hidden=256, heads=4, key_heads=2, head_length=64, intermediate=768, vocabulary=32_000),
    "tiny": Shape(layers=2, hidden=64, heads=4, key_heads=2, head_length=16, intermediate=128, vocabulary=1000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is measured, and on what. ``load`` is the load average over the last minute when the run began."""

    shape: str
    layout: Shape
    tokens: tuple[int, ...]
    repeats: int
    dtype: str
    device: str
    device_name: str
    torch: str
    transformers: str
    threads: int
    seed: int
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A row a length, and where the figures come from."""

    rows: tuple[Row, ...]
    model: Mapping[str, float]
    provenance: Mapping[str, object]

    def to_json(self) -> str:
        return json.dumps({"rows": self.rows, "model": self.model, "provenance": self.provenance}, indent=2)

    def to_table(self) -> str:
        return align_columns([SHOWN, *(tuple(f"{row[name]:.4g}" for name in SHOWN) for row in self.rows)])


def measure(options: Options) -> Report:
    """Measure every length, the shortest first; tells of each on stderr when it is done."""
    provenance = _provenance(options)
    model, parameters, made_s = _made(options)
    began = time.perf_counter()
    model.fingerprint  # noqa: B018  # computed once a process, and not what is compared
    figures = {"parameters": parameters, "made_s": made_s, "fingerprint_s": round(time.perf_counter() - began, 3)}
    model.generate(_reading(options, min(options.tokens), salt=-1), max_tokens=2)  # what is slow once is over
    rows = tuple(_measured(options, model, tokens) for tokens in options.tokens)
    return Report(rows=rows, model={**figures, "peak_rss_mb": round(peak_rss_mb())}, provenance=provenance)


def _measured(options: Options, model: TransformerModel, tokens: int) -> Row:
    """One length: each figure is the median over repeats, with a text of its own each."""
    began = time.perf_counter()
    rows = [_once(model, _reading(options, tokens, salt=repeat)) for repeat in range(options.repeats)]
    row = {name: _rounded(median(one[name] for one in rows)) for name in rows[0]}
    same = min(one["same_logits"] for one in rows) == 1
    print(f"{tokens} tokens: {time.perf_counter() - began:.1f} s", file=sys.stderr)
    ratios = {
        "speedup": _rounded(row["reencode_s"] / row["restore_s"]),
        "speedup_cold": _rounded(row["reencode_s"] / row["restore_cold_s"]),
    }
    return {"tokens": tokens, "question_tokens": QUESTION_TOKENS, **row, **ratios, "same_logits": same}


def _once(model: TransformerModel, reading: TokenizedPrompt) -> dict[str, float]:
    """Seconds until the first token of an answer: after reading everything; after reading it and keeping its state;
    from the state, with its file in the system's memory and without. ``load_s`` of these goes into reading and
    verifying the file; ``*_cpu_s`` are seconds of processors, which say more on a busy machine. ``same_logits`` is 1
    where what is expected after the restored state is, to the last bit, what is expected after reading.
    """
    with TemporaryDirectory(prefix="recollect-states-") as name:
        shelf = _shelf(Path(name) / "states")
        read = _timed(lambda: model.generate(reading, max_tokens=1))
        keep = _timed(lambda: model.generate(reading, max_tokens=1, location=shelf))
        restore = _timed(lambda: model.generate(reading, max_tokens=1, location=shelf))
        load = _timed(lambda: shelf.folder.load(shelf.path, model.state_key(reading.head), model.layers))
        _forget_pages(shelf.path)
        cold = _timed(lambda: model.generate(reading, max_tokens=1, location=shelf))
        if (keep.result.cached, restore.result.cached, cold.result.cached) != (0, *2 * [len(reading.head)]):
            raise SystemExit(f"the state was not kept or not found: {keep.result.note}{restore.result.note}")
        same = bool((model.next_logits(reading, shelf) == model.next_logits(reading)).all())
        return {
            "state_mb": sum(path.stat().st_size for path in shelf.path.iterdir()) / 1e6,
            "reencode_s": read.seconds,
            "reencode_cpu_s": read.cpu,
            "keep_s": keep.seconds,
            "restore_s": restore.seconds,
            "restore_cpu_s": restore.cpu,
            "restore_cold_s": cold.seconds,
            "load_s": load.seconds,
            "same_logits": float(same),
        }


@dataclass(frozen=True, slots=True)
class _Timed:
    result: Any
    seconds: float
    cpu: float


def _timed(work: Callable[[], Any]) -> _Timed:
    """A result and what it took; a token is a number on this side, so that a device is done with it."""
    began, cpu = time.perf_counter(), time.process_time()
    return _Timed(work(), time.perf_counter() - began, time.process_time() - cpu)


def _reading(options: Options, tokens: int, *, salt: int) -> TokenizedPrompt:
    """A segment of so many random tokens and a question after it."""
    chance = random.Random(f"{options.seed} {tokens} {salt}")
    numbers = [chance.randrange(options.layout.vocabulary) for _ in range(tokens + QUESTION_TOKENS)]
    return TokenizedPrompt(head=tuple(numbers[:tokens]), tail=tuple(numbers[tokens:]))


def _shelf(folder: Path) -> StateLocation:
    states = StateFolder(folder, max_bytes=1 << 40)
    place = states.locate()
    if place is None:
        raise SystemExit(f"no states can be kept in {folder}")
    return StateLocation(folder=states, path=place)


def _forget_pages(folder: Path) -> None:
    """Have the system forget what it holds of the files in memory, where it can be asked to."""
    for path in folder.iterdir():
        with path.open("rb") as file, suppress(AttributeError, OSError):
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class _NoWords:
    """A tokenizer that is never asked: the benchmark's texts are tokens."""

    chat_template, eos_token_id, bos_token_id = None, None, None

    def get_vocab(self) -> dict[str, int]:
        return {}

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        return ""


def _made(options: Options) -> tuple[TransformerModel, int, float]:
    """A model of random weights on its device, how many numbers it has, and how long it took."""
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    began, layout = time.perf_counter(), options.layout
    torch.manual_seed(options.seed)
    config = transformers.Qwen3Config(
        vocab_size=layout.vocabulary,
        hidden_size=layout.hidden,
        intermediate_size=layout.intermediate,
        num_hidden_layers=layout.layers,
        num_attention_heads=layout.heads,
        num_key_value_heads=layout.key_heads,
        head_dim=layout.head_length,
        max_position_embeddings=max(options.tokens) + 2 * QUESTION_TOKENS,
        tie_word_embeddings=True,
        eos_token_id=None,
        bos_token_id=None,
    )
    kind = getattr(torch, options.dtype)
    with torch.device(options.device):
        torch.set_default_dtype(kind)
        try:
            model = transformers.Qwen3ForCausalLM(config).to(options.device, kind).eval()
        finally:
            torch.set_default_dtype(torch.float32)
    count = sum(weight.numel() for weight in model.parameters())
    return (
        TransformerModel.wrap(model, _NoWords(), name=f"random {options.shape}"),
        count,
        _rounded(time.perf_counter() - began),
    )


def _provenance(options: Options) -> dict[str, object]:
    made_up = Dataset(name=f"random tokens, seed {options.seed}", conversations=(), place="message", checksum="")
    return gather_provenance(made_up, settings=options, at=datetime.now(UTC)).to_json()


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _options(arguments: Sequence[str] | None) -> tuple[Options, argparse.Namespace]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.states", description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=tuple(SHAPES), help="4b where there is an accelerator, else small")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 8192, 32_768], help="lengths of a segment")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), help="float32 on a CPU, else bfloat16")
    parser.add_argument("--device", help="cpu, cuda, mps; the best there is where left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    shape = given.shape or ("small" if device == "cpu" else "4b")
    options = Options(
        shape=shape,
        layout=SHAPES[shape],
        tokens=tuple(sorted(given.tokens)),
        repeats=given.repeats,
        dtype=given.dtype or ("float32" if device == "cpu" else "bfloat16"),
        device=device,
        device_name=torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU",
        torch=torch.__version__,
        transformers=transformers.__version__,
        threads=torch.get_num_threads(),
        seed=given.seed,
        load=os.getloadavg()[0],
    )
    return options, given


def main(arguments: Sequence[str] | None = None) -> None:
    options, given = _options(arguments)
    report = measure(options)
    hand_over(report, given)


if __name__ == "__main__":
    main()
