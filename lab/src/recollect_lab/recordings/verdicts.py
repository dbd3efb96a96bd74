"""Read verdicts on recorded answers. People judged the answers by hand, and the verdicts are next to the replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from recollect.errors import InvalidInput

VERDICTS: Final = "verdicts.json"


class Verdict(StrEnum):
    """The verdict of a person who compared an answer with the known answer."""

    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"


def load_verdicts(folder: Path, answers: Mapping[str, str]) -> dict[str, Verdict]:
    """Return a recording's verdicts on answers, by question id. An answer that changed after the judgement has no
    verdict.

    Raises:
        InvalidInput: the recording's verdicts cannot be read.
    """
    judged = _read_judged(folder / VERDICTS)
    return {id_: verdict for id_, (answer, verdict) in judged.items() if answers.get(id_) == answer}


def _read_judged(path: Path) -> dict[str, tuple[str, Verdict]]:
    try:
        found = json.loads(path.read_text("utf-8"))
        return {id_: (one["answer"], Verdict(one["verdict"])) for id_, one in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
        raise InvalidInput(f"cannot read the verdicts in {path}: {exc}") from exc
