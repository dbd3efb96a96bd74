"""``recollect demo --recipe hindsight``: over a small rehearsal of the test's own, and what it says of a result."""

import asyncio
import json
import sys
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime

import pytest
from click import unstyle
from standin_model import sound

from recollect.domain.answers import Answer, AnswerReceipt, Citation
from recollect.domain.codec import to_json
from recollect.domain.items import Item, ItemKind, Network, Occurrence
from recollect.domain.opinions import Assessment, Opinion, OpinionStep
from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Triple
from recollect.domain.usage import Cost, Usage
from recollect.errors import ModelUnavailable
from recollect_lab.cli import memory_blocks
from recollect_lab.cli import rehearsal as shown
from recollect_lab.datasets.dataset import DatasetQuestion
from recollect_lab.recordings import Recording, ReplayReport, ReplayServer, RequestKey, Upstream
from recollect_lab.recordings import upstream as upstreams
from recollect_lab.rehearsals import comparison
from recollect_lab.rehearsals import rehearsal as evals
from recollect_lab.rehearsals.plans import get_plan
from recollect_lab.rehearsals.rehearsal import AnsweredQuestion, RehearsalResult

AT = datetime(2023, 7, 11, 18, 5, tzinfo=UTC)
DAY = Interval(start=datetime(2023, 7, 6, tzinfo=UTC), end=datetime(2023, 7, 7, tzinfo=UTC), precision=Precision.DAY)
USED = Usage(calls=2, tokens_in=1200, tokens_out=80, seconds=1.5)


def item(id_, text, kind=ItemKind.FACT, **more):
    return Item(
        id=id_, kind=kind, text=text, session="s", speaker="Ada", sources=("m1",), mentioned=AT, recorded=AT, **more
    )


def answered(text, category, said, *cited, abstained=False):
    receipt = AnswerReceipt(recalls=(), models=("m",), usage=USED, seconds=1.0)
    answer = Answer(text=said, abstained=abstained, citations=cited, evidence=(), trace=(), receipt=receipt)
    question = DatasetQuestion(id="q", text=text, category=category, answer="6 July 2023")
    return AnsweredQuestion(question=question, answer=answer, f1=0.5)


def cited(fact):
    return Citation(id=fact.id, kind=fact.kind, text=fact.text, sources=fact.sources)


FACTS = (
    item("f1", "Bram bakes bread.", network=Network.WORLD),
    item(
        "f2",
        "Ada adopted Toby \x1b[2J(a dog).",
        network=Network.WORLD,
        occurrences=(Occurrence(words="last Thursday", interval=DAY),),
    ),
)


def step(number, confidence, assessment, *evidence, text="I think dogs are good for Ada."):
    return OpinionStep(
        id=f"o:{number}", at=AT, text=text, confidence=confidence, assessment=assessment, evidence=evidence
    )


def opinion(*steps):
    return Opinion(
        id="o",
        text=steps[-1].text,
        confidence=steps[-1].confidence,
        formed=AT,
        entities=("Ada",),
        sources=("m1",),
        steps=steps,
    )


def result(**more):
    whole = {
        "asked": (
            answered("When did Ada adopt Toby?", "temporal", "6 July 2023", cited(FACTS[1])),
            answered("Who is Bram's dentist?", "unanswerable", "Nobody said.", abstained=True),
            answered("What breed is Miso?", "unanswerable", "A lurcher.", cited(FACTS[0])),
        ),
        "reflected": (("Is Toby good for Ada?", answered("", "", "I think so.").answer),),
        "made": (*FACTS, item("b1", "Ada has a dog.", ItemKind.OBSERVATION, derived_from=("f1", "f2"))),
        "opinions": (opinion(step(0, 0.6, Assessment.FORMED, "f1"), step(1, 0.75, Assessment.REINFORCE, "f2")),),
        "links": {"temporal": 3, "causal": 12},
        "built": (),
        "costs": (
            Cost(operation="hindsight.observe", role="consolidate", model="m", usage=USED, failed=0),
            Cost(operation="hindsight.reinforce", role="consolidate", model="m", usage=USED, failed=0),
        ),
        "problems": (),
        "seconds": 4.0,
    }
    return RehearsalResult(**{**whole, **more})


def told(report=None, **more):
    return unstyle("\n\n".join(shown.format_result(result(**more), report or ReplayReport(), "hindsight")))


def test_facts_come_with_their_dates_types_and_links():
    text = told()
    assert "What it knows: 2 facts" in text
    assert "Ada adopted Toby \ufffd[2J(a dog).\n      world fact, happened 6 July 2023, said 2023-07-11 in m1" in text
    assert "How it is linked\n   12 causal, 3 temporal" in text


def test_facts_that_answers_cite_come_first(monkeypatch):
    monkeypatch.setattr(memory_blocks, "FACTS", 1)
    assert "Bram bakes bread" not in memory_blocks.format_facts(FACTS, result().asked[:1])


def test_gists_and_triples_come_with_their_times_and_messages():
    gist = item(
        "g1",
        "[11 July 2023, 6:05 pm] Ada adopted Toby last Thursday (6 July 2023).",
        ItemKind.GIST,
        occurrences=(Occurrence(words="last Thursday", interval=DAY),),
    )
    triple = Triple(subject="Ada", predicate="adopted", object="Toby", start=DAY, end=DAY)
    text = told(made=(gist, item("t1", "Ada adopted Toby", ItemKind.TRIPLE, triple=triple)))
    assert "What it recollects: 1 gist, an event each\n   [11 July 2023, 6:05 pm] Ada adopted Toby" in text
    assert "happened 6 July 2023, from m1" in text
    assert "   (Ada, adopted, Toby)\n      said 2023-07-11, from 1 message" in text


def test_opinions_tell_what_moved_them():
    text = told()
    assert "   believed 0.75: I think dogs are good for Ada.\n" in text
    assert "2023-07-11  0.60  formed: Bram bakes bread.\n" in text
    assert "2023-07-11  0.75  reinforce: Ada adopted Toby" in text


def test_a_long_trajectory_is_cut_and_says_so():
    later = [step(n, 0.9, Assessment.REINFORCE, "f1", "f2", text=f"I think {n}.") for n in range(1, 9)]
    text = told(opinions=(opinion(step(0, 0.6, Assessment.FORMED), *later),))
    assert "formed: evidence that is not a fact" in text
    assert "... 3 steps left out" in text
    assert text.count("reinforce: Bram bakes bread. and 1 more") == memory_blocks.STEPS
    assert [n for n in range(1, 9) if f"then believed: I think {n}." in text] == [4, 5, 6, 7]


def test_answers_and_abstentions_are_counted_honestly():
    text = told()
    assert "1 question with a known answer, mean token F1 0.50" in text
    assert "known answer: 6 July 2023\n      known, fact: Ada adopted Toby" in text
    assert "Asked what nobody said: 1 of 2 times it said so" in text


def test_costs_are_summed_by_role_and_time_without_the_model_is_told():
    text = told()
    assert ["consolidate", "4", "2,400", "0", "160"] in [line.split() for line in text.splitlines()]
    assert "1.0 s without the model, 3.0 s waiting for recorded replies" in text


def test_what_went_wrong_is_told():
    missing = RequestKey(key="k", role="extract", operation="o", subject="s")
    text = told(ReplayReport(missing=(missing,)), problems=("hindsight.observe:Ada: InvalidReply: empty\nfact",))
    assert "0 exact, 0 stale, 1 missing: some of the results below come from replies to other prompts." in text
    assert "recollect recordings check hindsight" in text
    assert "1 job failed\n   hindsight.observe:Ada: InvalidReply: empty fact" in text
    assert "failed" not in told()


def test_what_there_is_none_of_is_left_out():
    text = told(made=(), opinions=(), asked=(), reflected=(), links={}, costs=())
    assert "summed up" not in text
    assert "believes" not in text
    assert "Asked" not in text
    assert "linked" not in text


class Hand(Upstream):
    """Answers as the stand-in does, by the name of the schema."""

    def send(self, body, authorization):
        value = sound(body["messages"][-1]["content"], body["response_format"]["json_schema"]["name"])
        choice = {"message": {"role": "assistant", "content": json.dumps(to_json(value))}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        return upstreams.HttpAnswer(
            status=200, body=json.dumps({"model": "hand", "choices": [choice], "usage": usage}).encode()
        )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A rehearsal of one session and one question, recorded through the real adapter."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patched:
        shorten(patched)
        with ReplayServer(Recording.open(folder, create=True), Hand(base_url="http://localhost/v1")) as server:
            asyncio.run(evals.rehearse(get_plan("hindsight"), server.base_url, lambda progress: None))
    return folder


def shorten(patched):
    """Let the rehearsal be of one session and few questions."""

    def one_session(path, load=evals.load_jsonl):
        loaded = load(path)
        (conversation,) = loaded.conversations
        short = {"sessions": conversation.sessions[:1], "questions": conversation.questions[:2]}
        return type(loaded)(
            **{**fields_of(loaded), "conversations": (type(conversation)(**{**fields_of(conversation), **short}),)}
        )

    patched.setattr(evals, "load_jsonl", one_session)


def fields_of(value):
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


@pytest.fixture
def shipped(recorded, monkeypatch):
    """The recording is the one that comes with recollect."""
    shorten(monkeypatch)

    @contextmanager
    def path(name):
        assert name == "hindsight"
        yield recorded

    monkeypatch.setattr(comparison, "open_recording_folder", path)
    return recorded


def test_a_recording_is_replayed_from_end_to_end(cli, shipped):
    done = cli("demo", "--recipe", "hindsight")
    assert (done.code, done.err) == (0, "")
    assert "The model's replies are RECORDED." in done.out
    assert f"Replies: {len(Recording.open(shipped).entries)} exact, 0 stale, 0 missing\n" in done.out
    assert "What it knows: 2 facts" in done.out
    assert "1 causal" in done.out
    assert "What it believes: 1 opinion" in done.out
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_reply_that_is_missing_ends_it_with_a_word_on_what_fits(cli, shipped, monkeypatch, tmp_path):
    monkeypatch.setattr(comparison, "open_recording_folder", lambda name: nullcontext(tmp_path))
    (tmp_path / "replies.jsonl").write_text("", "utf-8")
    done = cli("demo", "--recipe", "hindsight")
    assert done.code == 1
    assert done.err.startswith("error: the rehearsal broke off: openai:recorded")
    assert "(replies: 0 exact, 0 stale, 2 missing; " in done.err
    assert done.err.count("\n") == 1


def test_without_the_package_it_says_which_command_brings_it(cli, monkeypatch):
    monkeypatch.setattr(shown, "find_spec", lambda name: None)
    done = cli("demo", "--recipe", "hindsight")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: pydantic-ai-slim is not installed; run: pip install 'recollect[models]'\n"


def test_a_run_that_breaks_off_says_how_many_replies_fit(cli, shipped, monkeypatch):
    async def rehearse(plan, base_url, progress, *, asked_at_once):
        progress("begun")
        raise ModelUnavailable("gone")

    monkeypatch.setattr(comparison, "rehearse", rehearse)
    assert cli("demo", "--recipe", "hindsight").err == (
        "error: the rehearsal broke off: gone (replies: 0 exact, 0 stale, 0 missing; "
        "recollect recordings check hindsight shows them)\n"
    )


def test_progress_is_told_in_a_terminal_alone(monkeypatch, capsys):
    shown.print_progress("kept 2023-07-11")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown.print_progress("kept 2023-08-03")
    assert capsys.readouterr().err == "kept 2023-08-03\n"


@pytest.mark.parametrize("options", [("--recipe", "stew"), ("--recipe", "hindsight", "--keep")])
def test_what_cannot_be_shown_is_wrong_usage(cli, options):
    assert cli("demo", *options).code == 2
