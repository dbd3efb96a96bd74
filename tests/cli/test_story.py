"""The story of an answer, as `recollect ask --trace` tells it."""

from dataclasses import replace

import pytest

from recollect.cli.evidence import format_evidence, format_evidence_line
from recollect.cli.story import format_story
from recollect.domain.answers import Answer, AnswerReceipt, Step, TraceLine
from recollect.domain.codec import from_json, to_json
from recollect.domain.items import ItemKind
from recollect.domain.recalls import Evidence
from recollect.domain.time import from_micros
from recollect.domain.usage import Usage
from recollect.methods.default.routing import Route, RouteReason, RouteTaken
from recollect.methods.memr3.answer import ConclusionReply
from recollect.methods.memr3.trace import (
    DecisionReason,
    Finding,
    Gap,
    LoopConclusion,
    LoopDecision,
    LoopRound,
    Snippet,
    TrackerState,
)
from recollect.methods.memr3.tracker import GenerationReply

AT = from_micros(1_689_069_600_000_000)  # 11 July 2023
COST = Usage(calls=1, tokens_in=1200, tokens_out=34)


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def snippet(number, text, speaker="Andrew"):
    evidence = Evidence(
        id=f"turn:0:m{number}",
        kind=ItemKind.TURN,
        text=text,
        session="s",
        speaker=speaker,
        sources=(f"m{number}",),
        mentioned=AT,
        occurred=None,
        score=1.0,
        why=(),
        tokens=9,
    )
    return Snippet(number=number, evidence=evidence, shown="")


def answer(trace):
    receipt = AnswerReceipt(recalls=(), models=(), usage=Usage(), seconds=0.0)
    return Answer(text="Three.", abstained=False, citations=(), evidence=(), trace=tuple(trace), receipt=receipt)


TOBY = Finding(fact="Andrew adopted Toby on 11 July 2023.", snippets=(1,))
BUDDY = Finding(fact="Buddy came on 19 October 2023.", snippets=(2, 3))
ASKED = "How many months passed between Toby and Buddy?"
ROUNDS = (
    LoopRound(
        number=0,
        decision=LoopDecision.RETRIEVE,
        why=DecisionReason.START,
        query=ASKED,
        snippets=(snippet(1, "So much has changed:\nthis is Toby, my puppy, and he sleeps on the sofa all day!"),),
        seconds=0.0123,
    ),
    LoopRound(
        number=1,
        decision=LoopDecision.RETRIEVE,
        wanted=LoopDecision.RETRIEVE,
        content="Buddy adoption",
        query=f"{ASKED} Buddy adoption",
        snippets=(snippet(2, "Another pup.", ""), snippet(3, "I named him Buddy.")),
        before=TrackerState(),
        after=TrackerState(evidence=(TOBY,), gaps=(Gap(missing="when Buddy came"), Gap(missing="the day", finer=True))),
        usage=COST,
        seconds=0.8,
    ),
    LoopRound(
        number=2,
        decision=LoopDecision.REFLECT,
        why=DecisionReason.EMPTY,
        wanted=LoopDecision.ANSWER,
        content="Three months.",
        before=TrackerState(evidence=(TOBY,)),
        after=TrackerState(evidence=(TOBY, BUDDY)),
        usage=COST,
        seconds=0.7,
    ),
    LoopRound(
        number=3,
        before=TrackerState(evidence=(TOBY, BUDDY)),
        after=TrackerState(evidence=(TOBY, BUDDY)),
        failure="X: it is down",
    ),
)
LOOP = (*ROUNDS, LoopConclusion(reasoning="From July to October.", usage=COST, seconds=0.5))

TOLD = """\
How many months passed between Toby and Buddy?
0. retrieve: a question begins with a retrieval  (0.01 s)
   looked for: How many months passed between Toby and Buddy?
       [1] 2023-07-11 Andrew: So much has changed: this is Toby, my…  turn:0:m1
1. retrieve: the model chose  (1,234 tokens, 0.80 s)
   + known: Andrew adopted Toby on 11 July 2023. [1]
   ? missing: when Buddy came
   ? missing: the day (it is known, but not exactly enough)
   looked for: How many months passed between Toby and Buddy? Buddy adoption
       [2] 2023-07-11 Another pup.  turn:0:m2
       [3] 2023-07-11 Andrew: I named him Buddy.  turn:0:m3
2. reflect: the last retrieval found nothing new; the model would have chosen to
   answer  (1,234 tokens, 0.70 s)
   · known: Andrew adopted Toby on 11 July 2023. [1]
   + known: Buddy came on 19 October 2023. [2, 3]
   nothing is missing
   draft: Three months.
3. nothing was decided  (0.00 s)
   failed: X: it is down
= concluded: From July to October.  (1,234 tokens, 0.50 s)"""


def plain(text):
    return "\n".join(
        line.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "") for line in text.split("\n")
    )


def test_a_loop_is_told_iteration_by_iteration():
    assert plain(format_story(ASKED, answer(LOOP))) == TOLD


def test_what_came_before_a_loop_is_told_before_it():
    before = RouteTaken(route=Route.LOOP, reason=RouteReason.GAP, case="when")
    told = plain(format_story(ASKED, answer([before, *LOOP]))).split("\n")
    assert told[1] == "· route: loop, since something is missing: when  (0.00 s)"
    assert told[2:] == TOLD.split("\n")[1:]


def test_an_answer_without_a_loop_is_told_step_by_step():
    steps = [
        Step(action="recall", detail="20 raw words", seconds=0.02),
        Step(action="answer", detail=f"Entry 3\n{'says so ' * 12}", seconds=1.5),
    ]
    assert plain(format_story("Who?", answer(steps))) == (
        "Who?\n· recall: 20 raw words  (0.02 s)\n"
        "· answer: Entry 3 says so says so says so says so says so says so says so says\n"
        "  so says so says so says so says so  (1.50 s)"
    )


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    widest = min(columns, 100)
    told = plain(format_story("Short?", answer(LOOP)))
    assert max(len(line) for line in told.split("\n")) <= widest


@pytest.mark.parametrize(
    ("known", "gaps", "wanted", "complete"),
    [
        ((TOBY,), (), LoopDecision.ANSWER, True),
        ((TOBY,), (), LoopDecision.REFLECT, True),
        ((TOBY,), (), LoopDecision.RETRIEVE, False),
        ((), (), LoopDecision.ANSWER, False),
        ((TOBY,), (Gap(missing="the day"),), LoopDecision.ANSWER, False),
    ],
)
def test_that_nothing_is_missing_is_said_only_where_something_is_known_and_no_more_is_wanted(
    known, gaps, wanted, complete
):
    one = LoopRound(
        number=1, decision=wanted, wanted=wanted, content="x", after=TrackerState(evidence=known, gaps=gaps)
    )
    assert ("nothing is missing" in one.detail) is complete
    assert ("nothing is missing" in plain(format_story(ASKED, answer([one])))) is complete


def test_what_nobody_has_dated_is_told_without_a_day():
    dated = snippet(1, "It is Toby.")
    undated = replace(dated, number=2, evidence=replace(dated.evidence, mentioned=None))
    one = LoopRound(
        number=0, decision=LoopDecision.RETRIEVE, why=DecisionReason.START, query="Who?", snippets=(dated, undated)
    )
    told = plain(format_story("Who?", answer([one])))
    assert "[1] 2023-07-11 Andrew: It is Toby." in told
    assert "[2] undated    Andrew: It is Toby." in told


def test_evidence_that_nobody_has_dated_has_its_line_and_its_json():
    evidence = replace(snippet(1, "It is Toby.").evidence, mentioned=None)
    assert " undated     Andrew It is Toby." in plain(format_evidence_line(evidence, gold=False, columns=80))
    assert " undated     Andrew  1.00" in plain(format_evidence(1, evidence))
    assert "mentioned" not in to_json(evidence)
    assert from_json(Evidence, to_json(evidence)) == evidence


def test_nothing_that_is_told_moves_the_terminal():
    evil = "x\x1b[2J\u202e"
    known = TrackerState(evidence=(Finding(fact=evil, snippets=(1,)),), gaps=(Gap(missing=evil),))
    one = LoopRound(
        number=1,
        decision=LoopDecision.REFLECT,
        wanted=LoopDecision.REFLECT,
        content=evil,
        query=evil,
        snippets=(snippet(1, evil, evil),),
        after=known,
        failure=evil,
    )
    steps = [
        Step(action=evil, detail=evil, seconds=0.0),
        Step(action="look", detail="", seconds=0.0, lines=(TraceLine(text=evil, mark="+"), TraceLine(text=evil))),
        one,
        LoopConclusion(reasoning=evil, usage=Usage(), seconds=0.0),
    ]
    told = plain(format_story(evil, answer(steps)))
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_the_story_comes_before_the_answer(cli, filled, thinking):
    known = (Finding(fact="Toby is a dog.", snippets=(1,)),)
    thinking(
        Generated=GenerationReply(evidence=known, gaps=(), decision="answer", draft="A dog."),
        Concluded=ConclusionReply(reasoning="It says so.", answer="A dog.", abstained=False, citations=(1,)),
    )
    asked = ("ask", "Who is Toby?", "--recipe", "memr3", "--model", "openai:x")
    done = cli(*asked, "--trace")
    lines = done.out.splitlines()
    assert (done.code, lines[0]) == (0, "Who is Toby?")
    assert lines[1].startswith("0. retrieve: a question begins with a retrieval")
    assert "   + known: Toby is a dog. [1]" in lines
    assert lines[lines.index("") + 1] == "A dog."
    assert "retrieve" not in cli(*asked).out
    told = cli(*asked, "--trace", "--json").json()
    begin, settled, end = told["trace"]
    assert [(one["kind"], one["action"]) for one in told["trace"]] == [
        ("memr3.round", "retrieve"),
        ("memr3.round", "answer"),
        ("memr3.conclusion", "conclude"),
    ]
    assert (begin["number"], settled["number"], end["detail"]) == (0, 1, "It says so.")
    assert begin["snippets"][0]["evidence"]["id"].startswith("turn:")


def test_without_a_loop_the_steps_come_before_the_answer(cli, filled, thinking):
    thinking()
    lines = cli("ask", "Who is Toby?", "--recipe", "hindsight", "--model", "openai:x", "--trace").out.splitlines()
    assert lines[1].startswith("· recall: ")
    assert lines[2].startswith("· answer: entry 1 says so")
    assert lines[4] == "Entry one says so."
