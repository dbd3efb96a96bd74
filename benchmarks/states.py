"""Compare restoring a stored state with reading a segment again: ``python -m benchmarks.states --shape tiny``.

A segment's keys and values are stored in a file (E-mem, 3.5, equation 9). This shortens the time to the first token of
an answer, because the segment is not read again. The weights are random, because the time does not depend on their
meaning. Their shape is that of a real model. The program needs numpy, torch and transformers. From a bare checkout it
also needs ``PYTHONPATH=src``.
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
    """The shape of a model of Qwen3's kind. It decides the time for reading and the size of the states."""

    layers: int
    hidden: int
    heads: int
    key_heads: int
    head_length: int
    intermediate: int
    vocabulary: int


SHAPES: Final[Mapping[str, Shape]] = {
    "4b": Shape(  # as in Qwen3-4B
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
    """The settings of a run. ``load`` is the machine's load average over the last minute when the run began."""

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
    """A row for each length, and the origin of the figures."""

    rows: tuple[Row, ...]
    model: Mapping[str, float]
    provenance: Mapping[str, object]

    def to_json(self) -> str:
        return json.dumps({"rows": self.rows, "model": self.model, "provenance": self.provenance}, indent=2)

    def to_table(self) -> str:
        return align_columns([SHOWN, *(tuple(f"{row[name]:.4g}" for name in SHOWN) for row in self.rows)])


def measure(options: Options) -> Report:
    """Measure every length, the shortest first. Report each on stderr when it is done."""
    provenance = _provenance(options)
    model, parameters, made_s = _made(options)
    began = time.perf_counter()
    model.fingerprint  # noqa: B018  # computed once in a process, and not part of the comparison
    figures = {"parameters": parameters, "made_s": made_s, "fingerprint_s": round(time.perf_counter() - began, 3)}
    model.generate(_reading(options, min(options.tokens), salt=-1), max_tokens=2)  # because the first call is slower
    rows = tuple(_measured(options, model, tokens) for tokens in options.tokens)
    return Report(rows=rows, model={**figures, "peak_rss_mb": round(peak_rss_mb())}, provenance=provenance)


def _measured(options: Options, model: TransformerModel, tokens: int) -> Row:
    """Measure one length. Each figure is the median over repeats, each with a different text."""
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
    """Return the seconds to the first token of an answer, measured in four ways, and other figures.

    The four ways are: after reading everything (``reencode_s``), after reading it and storing its state (``keep_s``),
    and from the stored state, with its file in the system's memory (``restore_s``) and without (``restore_cold_s``).
    ``load_s`` is the time for reading and verifying the file. ``*_cpu_s`` are seconds of processor time, which are more
    reliable on a busy machine. ``same_logits`` is 1 if the logits after the restored state are equal, to the last bit,
    to those after reading.
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
            raise SystemExit(f"the state was not stored or not found: {keep.result.note}{restore.result.note}")
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
    """Return the result of some work, and its time. The work returns tokens as numbers, so a device has finished with
    it.
    """
    began, cpu = time.perf_counter(), time.process_time()
    return _Timed(work(), time.perf_counter() - began, time.process_time() - cpu)


def _reading(options: Options, tokens: int, *, salt: int) -> TokenizedPrompt:
    """Return a segment of ``tokens`` random tokens with a question after it."""
    chance = random.Random(f"{options.seed} {tokens} {salt}")
    numbers = [chance.randrange(options.layout.vocabulary) for _ in range(tokens + QUESTION_TOKENS)]
    return TokenizedPrompt(head=tuple(numbers[:tokens]), tail=tuple(numbers[tokens:]))


def _shelf(folder: Path) -> StateLocation:
    states = StateFolder(folder, max_bytes=1 << 40)
    place = states.locate()
    if place is None:
        raise SystemExit(f"no states can be stored in {folder}")
    return StateLocation(folder=states, path=place)


def _forget_pages(folder: Path) -> None:
    """Remove a folder's files from the system's page cache, if the system allows it."""
    for path in folder.iterdir():
        with path.open("rb") as file, suppress(AttributeError, OSError):
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class _NoWords:
    """A tokenizer that is never used, because the benchmark's texts are tokens."""

    chat_template, eos_token_id, bos_token_id = None, None, None

    def get_vocab(self) -> dict[str, int]:
        return {}

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        return ""


def _made(options: Options) -> tuple[TransformerModel, int, float]:
    """Return a model of random weights on its device, the number of its weights, and the time for making it."""
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
    parser.add_argument("--shape", choices=tuple(SHAPES), help="shape of the model; default: 4b with CUDA, else small")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 8192, 32_768], help="lengths of a segment")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), help="float32 on a CPU, else bfloat16")
    parser.add_argument("--device", help="cpu, cuda or mps; default: cuda if there is one, else cpu")
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
