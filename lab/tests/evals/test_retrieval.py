import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from recollect.domain.messages import Message
from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion, DatasetSession
from recollect_lab.evals.conversation_run import EvalProgress
from recollect_lab.evals.retrieval import evaluate_retrieval
from recollect_lab.evals.selection import choose_questions
from recollect_lab.reports.provenance import gather_provenance

AT = datetime(2024, 5, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Settings:
    answers: str = "scripted"


@dataclass(frozen=True)
class Piece:
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Pieces:
    evidence: tuple[Piece, ...]


@dataclass
class ScriptedBank:
    """Gives the sources that a script has for a question; raises what is an exception there."""

    script: dict[str, list[tuple[str, ...]] | Exception]
    calls: list[tuple[object, ...]] = field(default_factory=list)

    async def retain(self, messages, *, session):
        self.calls.append(("retain", session, tuple(message.id for message in messages)))

    async def recall(self, query, *, limit, max_tokens, now):
        self.calls.append(("recall", query, limit, max_tokens, now))
        answer = self.script.get(query, [])
        if isinstance(answer, Exception):
            raise answer
        return Pieces(tuple(Piece(sources) for sources in answer))

    async def close(self):
        self.calls.append(("close",))

    def size_bytes(self):
        return 1_500_000


def session(name, *ids, day=0):
    at = AT + timedelta(days=day)
    return DatasetSession(id=name, at=at, messages=tuple(Message(id=one, text="x", at=at) for one in ids))


def question(text, evidence=(), sessions=(), category="easy", unscored=None):
    return DatasetQuestion(
        id=f"id of {text}",
        text=text,
        category=category,
        at=AT,
        evidence=evidence,
        sessions=sessions,
        unscored=unscored,
    )


ONE = DatasetConversation(
    id="one",
    sessions=(session("s1", "a", "b"), session("s2", "c", "d", day=1), session("empty", day=2)),
    questions=(
        question("found?", ("c",), ("s2",)),
        question("half?", ("a", "d"), ("s1", "s2"), category="hard"),
        question("sessions?", (), ("s1",)),
        question("never said?", unscored="no evidence"),
        question("broken?", ("a",), ("s1",), category="hard"),
    ),
)
TWO = DatasetConversation(id="two", sessions=(session("s1", "z"),), questions=(question("other?", ("z",), ("s1",)),))
DATASET = Dataset(
    name="tiny", conversations=(ONE, TWO), place="message", checksum="ab" * 32, left_out={"adversarial": 3}
)
SCRIPT = {
    "found?": [("c", "b")],
    "half?": [("b",), ("a",)],
    "sessions?": [("d",), ("a",)],
    "broken?": RuntimeError("the index is gone"),
    "other?": [("z",)],
}


class Banks:
    def __init__(self, script=SCRIPT):
        self.script = script
        self.opened: dict[str, ScriptedBank] = {}

    async def open(self, name):
        self.opened[name] = ScriptedBank(self.script)
        return self.opened[name]


def clock():
    ticks = iter(range(10_000))
    return lambda: float(next(ticks))


async def evaluate(dataset=DATASET, banks=None, **options):
    provenance = gather_provenance(dataset, settings=Settings(), at=AT)
    return await evaluate_retrieval(dataset, (banks or Banks()).open, provenance=provenance, timer=clock(), **options)


async def test_sessions_are_retained_in_order_and_questions_put_after_them():
    banks = Banks()
    await evaluate(banks=banks)
    calls = banks.opened["one"].calls
    assert calls[:2] == [("retain", "s1", ("a", "b")), ("retain", "s2", ("c", "d"))]
    assert calls[2] == ("recall", "found?", 50, None, AT)
    assert [call[0] for call in calls] == ["retain"] * 2 + ["recall"] * 4 + ["close"]


async def test_scores_by_hand():
    metrics = (await evaluate()).metrics
    # found 1, half 1/2, broken 0, other 1; sessions: 1, 1/2, 1, 0, 1
    assert (metrics["recall@5"].mean, metrics["recall@5"].n) == (pytest.approx(2.5 / 4), 4)
    assert (metrics["session_recall@5"].mean, metrics["session_recall@5"].n) == (pytest.approx(3.5 / 5), 5)
    assert metrics["mrr"].mean == pytest.approx((1 + 1 / 2 + 0 + 1) / 4)


async def test_categories_have_figures_of_their_own():
    report = await evaluate()
    assert list(report.by_category) == ["easy", "hard"]
    assert report.by_category["hard"]["recall@5"].mean == pytest.approx(0.25)


async def test_a_failing_recall_is_recorded_and_scored_zero():
    report = await evaluate()
    (row,) = [row for row in report.rows if row.error]
    assert (row.question, row.error) == ("id of broken?", "RuntimeError: the index is gone")
    assert set(row.scores.values()) == {0.0}
    assert report.to_json()["errors"] == [{"question": "id of broken?", "error": "RuntimeError: the index is gone"}]


async def test_a_source_that_is_no_message_is_an_error_too():
    report = await evaluate(banks=Banks({**SCRIPT, "found?": [("c",), ("nonsense",)]}))
    assert "nonsense" in str(report.rows[0].error)
    assert report.counts.errors == 2


async def test_every_question_of_the_file_is_accounted_for():
    counts = (await evaluate()).counts
    assert (counts.questions, counts.asked, counts.scored, counts.sessions_only, counts.errors) == (9, 5, 4, 1, 1)
    assert counts.left_out == {"adversarial": 3, "no evidence": 1}
    assert counts.asked + sum(counts.left_out.values()) == counts.questions


async def test_time_and_size_are_summed_over_banks():
    report = await evaluate()
    assert (report.seconds.retain, report.seconds.recall) == (2, 5)
    assert (report.seconds.recall_p50_ms, report.seconds.recall_p95_ms) == (1000, 1000)
    assert (report.size.messages, report.size.index_mb, report.counts.conversations) == (5, 3.0, 2)


async def test_where_all_fails_there_are_no_percentiles():
    report = await evaluate(banks=Banks({text: RuntimeError("no") for text in SCRIPT}))
    assert (report.seconds.recall_p50_ms, report.metrics["recall@5"].mean) == (None, 0)
    assert "p50 -" in report.to_table()


async def test_rankings_are_cut_at_the_depth():
    banks = Banks({**SCRIPT, "half?": [("b", "a", "d")]})
    report = await evaluate(banks=banks, depth=2)
    assert report.rows[1].places == ("b", "a")
    assert ("recall", "half?", 2, None, AT) in banks.opened["one"].calls
    assert list(report.metrics) == ["mrr"]


async def test_a_limit_spreads_over_conversations_and_is_accounted_for():
    report = await evaluate(limit=2)
    assert [row.question for row in report.rows] == ["id of found?", "id of sessions?"]
    assert report.counts.left_out["over the limit"] == 3
    assert report.counts.conversations == 1


async def test_progress_is_told_after_each_step():
    told: list[EvalProgress] = []
    await evaluate(progress=told.append)
    assert [(one.stage, one.conversation, one.done) for one in told] == [
        ("retain", "one", 0),
        *(("recall", "one", done) for done in (1, 2, 3, 4)),
        ("retain", "two", 4),
        ("recall", "two", 5),
    ]
    assert {one.total for one in told} == {5}


async def test_a_bank_that_cannot_retain_ends_it_and_is_closed():
    banks = Banks()

    async def failing(messages, *, session):
        raise OSError("disk full")

    async def open_bank(name):
        bank = await banks.open(name)
        bank.retain = failing
        return bank

    with pytest.raises(OSError, match="disk full"):
        await evaluate_retrieval(DATASET, open_bank, provenance=gather_provenance(DATASET, settings=Settings(), at=AT))
    assert banks.opened["one"].calls == [("close",)]


@pytest.mark.parametrize("options", [{"depth": 0}, {"limit": 0}])
async def test_nothing_below_one(options):
    with pytest.raises(InvalidInput, match="1 or more"):
        await evaluate(**options)


async def test_a_file_without_gold_is_refused():
    bare = replace(DATASET, conversations=(replace(ONE, questions=(ONE.questions[3],)),))
    with pytest.raises(InvalidInput, match="no question of tiny can be scored"):
        await evaluate(bare)


async def test_the_report_is_json_and_says_where_it_comes_from():
    found = json.loads(json.dumps((await evaluate()).to_json()))
    assert set(found) == {
        "metrics",
        "by_category",
        "run",
        "seconds",
        "size",
        "counts",
        "errors",
        "provenance",
    }
    assert set(found["metrics"]["recall@10"]) == {"mean", "low", "high", "n"}
    assert set(found["seconds"]) == {"retain", "recall", "recall_p50_ms", "recall_p95_ms"}
    assert found["run"] == {"place": "message", "depth": 50, "limit": None}
    assert found["provenance"]["settings"] == {"answers": "scripted"}


async def test_raw_rows_are_json():
    rows = json.loads(json.dumps((await evaluate()).rows_json()))
    assert rows[0]["gold"] == ["c"]
    assert rows[0]["places"] == ["c", "b"]
    assert rows[0]["sessions"] == ["s2", "s1"]


async def test_the_table_has_figures_and_what_stands_beside_them():
    table = (await evaluate()).to_table()
    for words in ("recall@10", "0.625", "hard", "adversarial 3, no evidence 1", "1 (scored 0)", "5 messages, 3.0 MB"):
        assert words in table
    assert all(line == line.rstrip() for line in table.splitlines())


def test_a_limit_takes_evenly_spaced_questions():
    sizes = {"a": 10, "b": 30, "c": 20}
    conversations = tuple(
        DatasetConversation(id=name, sessions=(), questions=tuple(question(f"{name}{i}", ("m",)) for i in range(size)))
        for name, size in sizes.items()
    )
    dataset = replace(DATASET, conversations=conversations)
    assert [len(one.questions) for one in choose_questions(dataset, 6)] == [1, 3, 2]
    assert choose_questions(dataset, 1000) == choose_questions(dataset, None)
    assert choose_questions(dataset, 6) == choose_questions(dataset, 6)
    assert choose_questions(replace(DATASET, conversations=()), 6) == ()
