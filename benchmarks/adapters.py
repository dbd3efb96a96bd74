"""Run MemR3 over a bank, Mem0 and a LangGraph store with the same messages: ``python -m benchmarks.adapters``.

The replies are recorded. ``--upstream URL`` sends the requests that are not recorded to an endpoint, and records its
replies::

    python -m benchmarks.adapters --upstream http://localhost:8000/v1 --folder lab/src/recollect_lab/recordings/adapters
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from recollect.methods.memr3.trace import LoopRound
from recollect_lab.recordings import Recording, ReplayServer, Upstream, open_recording_folder
from recollect_lab.rehearsals.rehearsal import AnsweredQuestion
from recollect_lab.rivals import BACKENDS, NAME, run_adapter


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    upstream = Upstream(base_url=options.upstream, model=options.model) if options.upstream else None
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(open_recording_folder(NAME))
        recording = Recording.open(folder, create=upstream is not None)
        server = stack.enter_context(ReplayServer(recording, upstream))
        told = {backend: asyncio.run(run_adapter(server.base_url, backend, _say)) for backend in options.backend}
        report = server.report
    whole = upstream is not None and report.is_fresh and set(options.backend) == set(BACKENDS)
    dropped = recording.prune(report.used_keys) if whole else ()
    found = {
        "replies": {
            "exact": len(report.exact),
            "recorded": len(report.recorded),
            "stale": len(report.stale),
            "missing": len(report.missing),
            "unused": len(report.unused) - len(dropped),
        },
        "backends": {backend: [as_json(one) for one in asked] for backend, asked in told.items()},
    }
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0 if report.is_fresh else 1


def as_json(asked: AnsweredQuestion) -> dict[str, object]:
    """Return an answer together with the known answer, the decisions of the loop, and the cost."""
    answer, usage = asked.answer, asked.answer.receipt.usage
    return {
        "question": asked.question.text,
        "known": asked.question.answer,
        "answer": answer.text,
        "abstained": answer.abstained,
        "f1": round(asked.f1, 3),
        "sources": [list(citation.sources) for citation in answer.citations],
        "decisions": [step.decision for step in answer.trace if isinstance(step, LoopRound)],
        "calls": usage.calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "notes": list(answer.receipt.notes),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backend", nargs="+", choices=sorted(BACKENDS), default=sorted(BACKENDS))
    parser.add_argument("--folder", type=Path, help="folder of the recording; default: the shipped one")
    parser.add_argument("--upstream", metavar="URL", help="address of an OpenAI-compatible endpoint, up to its /v1")
    parser.add_argument("--model", metavar="NAME", help="ask the endpoint for this model")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
