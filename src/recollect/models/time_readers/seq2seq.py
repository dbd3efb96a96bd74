"""Read times with a small sequence-to-sequence model that follows instructions (flan-t5), loaded on first use."""

from __future__ import annotations

import asyncio
import importlib
import re
import threading
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from recollect._tokenizer import replace_surrogates
from recollect.domain.time import Interval
from recollect.errors import MissingExtra, ModelUnavailable
from recollect.models.time_reader import make_day_range

MAX_CHARACTERS: Final = 500
MAX_NEW_TOKENS: Final = 32  # two dates are 20 pieces or so

_WINDOW: Final = 512
_RANGE: Final = re.compile(r"(\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d)", re.ASCII)


class Seq2SeqTimeReader:
    """Reads times with a model such as google/flan-t5-small, in a thread, one call at a time.

    The model sees a few examples. Its most likely answer is read strictly: two dates, or nothing. Threads and event
    loops may share it.

    Args:
        model: a name on the model hub, or a folder. A folder needs no network.
        device: "cpu", "cuda" or "mps". None leaves the model where it is loaded.
    """

    def __init__(self, model: str | Path, *, device: str | None = None) -> None:
        self._source = model
        self._device = device
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        return str(self._source)

    async def read(self, question: str, now: datetime) -> Interval | None:
        """Return the days that a question asks about. The first 500 characters of the question are read.

        Raises:
            ModelUnavailable: the model could not be loaded, or failed.
            MissingExtra: transformers or torch is not installed.
        """
        prompt = build_time_prompt(question, now.date())
        return parse_range(await asyncio.to_thread(self._answer, prompt), now.tzinfo)

    def _answer(self, prompt: str) -> str:
        with self._lock:  # a fast tokenizer that truncates raises "Already borrowed" if two threads use it
            if self._loaded is None:
                self._loaded = _load(self._source, self._device)
            tokenizer, model = self._loaded
            try:
                asked = tokenizer(prompt, return_tensors="pt", truncation=True, max_length=_WINDOW)
                told = model.generate(**asked.to(model.device), max_new_tokens=MAX_NEW_TOKENS, do_sample=False)
                return str(tokenizer.decode(told[0], skip_special_tokens=True))
            except Exception as exc:  # torch and the code of the model may raise anything
                raise ModelUnavailable(f"{self._source} failed to read a time: {exc}") from exc


def build_time_prompt(question: str, today: date) -> str:
    """Return the question after three solved examples. One example has no time, so that "none" is a possible answer."""
    month_end = today.replace(day=1) - timedelta(days=1)
    solved = (
        ("What did we eat yesterday?", _format_days(today - timedelta(days=1), today - timedelta(days=1))),
        ("Where does Sam keep the ladder?", "none"),
        ("Who visited us last month?", _format_days(month_end.replace(day=1), month_end)),
    )
    examples = "".join(f"Question: {asked}\nDates: {told}\n\n" for asked, told in solved)
    words = " ".join(replace_surrogates(question[:MAX_CHARACTERS]).split())
    return (
        f"Today is {today:%A}, {today.isoformat()}. Which dates does the question ask about? "
        f"Answer with the first and the last date, or with none.\n\n{examples}Question: {words}\nDates:"
    )


def parse_range(answer: str, zone: tzinfo | None) -> Interval | None:
    """Return the days of "YYYY-MM-DD to YYYY-MM-DD", both included, or ``None`` for other text and a reversed range."""
    found = _RANGE.fullmatch(answer.strip())
    if found is None:
        return None
    try:
        return make_day_range(date.fromisoformat(found[1]), date.fromisoformat(found[2]), zone)
    except (ValueError, OverflowError):  # 31 June, an end before its start, the end of the calendar
        return None


def _format_days(first: date, last: date) -> str:
    return f"{first.isoformat()} to {last.isoformat()}"


def _load(source: str | Path, device: str | None) -> tuple[Any, Any]:
    """Return the tokenizer and the model."""
    if isinstance(source, Path) and not source.is_dir():
        raise ModelUnavailable(f"{source} is no folder, so no model that reads times can be loaded from it")
    try:
        transformers: Any = importlib.import_module("transformers")  # an optional package that mypy need not find
        importlib.import_module("torch")
    except ImportError as exc:
        raise MissingExtra("transformers", "transformers") from exc
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(source))
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(source))
        return tokenizer, (model.to(device) if device else model).eval()
    except Exception as exc:  # any error of the hub, the file or torch means that there is no model
        raise ModelUnavailable(f"the model {source} that reads times could not be loaded: {exc}") from exc
