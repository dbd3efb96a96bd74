"""Hindsight's numbered equations, each against numbers worked out by hand: who believes what, and what a model does.

These are 6, 18 to 31 and 34; the others are in ``test_equations.py``. Models are scripted, banks real. Where we do
otherwise than the paper, the test says how.
"""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
import test_equations
from cara_bank import AT, NOW, opened, query, step
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect import Memory, Message
from recollect import Role as Voice
from recollect.domain.banks import Disposition, Profile
from recollect.domain.items import ItemKind, Network
from recollect.domain.jobs import Job
from recollect.domain.links import LinkKind
from recollect.domain.opinions import Assessment, Opinion
from recollect.errors import InvalidInput
from recollect.methods.hindsight.background import MergedBackground, merge_background
from recollect.methods.hindsight.disposition import verbalize_disposition
from recollect.methods.hindsight.observer import Observer
from recollect.methods.hindsight.reflector import FormedOpinion, Reflector, ReflectReply, introduce_profile
from recollect.methods.hindsight.reinforcer import (
    Assessments,
    OpinionAssessment,
    OpinionCandidate,
    Reinforcer,
    ReinforceSettings,
    select_candidates,
    update_confidence,
)
from recollect.methods.hindsight.replies import (
    CausalRelation,
    ExtractedFact,
    ExtractedFacts,
    ExtractedObservation,
    NamedEntity,
    Observations,
)
from recollect.store.commit_retry import derive_changes
from recollect.store.profile_setting import read_profile
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel

PYTHON = "I think Python is the best general-purpose language for data science. Everything is made for it."
TRADE_OFFS = "I think Python is fine for data science but has trade-offs. Others are faster."
NUMBERED = re.compile(r"test_equations?_((?:\d+_)+)")


def test_every_numbered_equation_has_its_test():
    names = (NUMBERED.match(name) for name in (*vars(test_equations), *globals()))
    assert {int(number) for name in names if name for number in name[1].split("_") if number} == set(range(1, 35))


async def test_equation_6_observations_of_the_facts_that_mention_an_entity():
    """o_e = Summarize(F_e): the model sees all facts on e and no other, nothing of the profile; several statements
    come of it, without confidence. F_e are the newest 60 facts, at least three."""
    loud = Profile(name="Iris", disposition=Disposition(empathy=5, bias_strength=1.0))
    reply = Observations(observations=(ExtractedObservation(text="Toby keeps a dog and a cat.", facts=(1, 3)),))
    async with opened() as iris:
        await iris.profile(loud)
        for id_, text, name in (("f1", "keeps a dog", "Toby"), ("f2", "sings", "Ben"), ("f3", "ran", "Toby")):
            await iris.fact(id_, f"{name} {text}.", name, at=AT + timedelta(hours=int(id_[1])))
        (toby,) = [one.id for one in await iris.store.entities() if one.name == "Toby"]
        job = Job(id="o", kind="hindsight.observe", payload=toby, messages=(), due=None)
        parts = iris.parts(reply)
        observer = Observer(parts)
        too_few = await derive_changes(iris.store, await observer.consolidate(job, iris.store, NOW))
        await iris.fact("f4", "Toby keeps a cat.", "Toby", at=AT + timedelta(hours=4))
        await iris.store.commit(await derive_changes(iris.store, await observer.consolidate(job, iris.store, NOW)))
        (kept,) = await iris.store.items_of([ItemKind.OBSERVATION])
    (prompt,) = parts.model.prompts
    assert too_few.is_empty
    assert [text in prompt.text for text in ("a dog", "ran", "a cat", "sings")] == [True, True, True, False]
    assert "empathetic" not in prompt.system + prompt.text
    assert (kept.derived_from, kept.confidence) == (("f1", "f4"), None)


@pytest.mark.parametrize("trait", ["skepticism", "literalism", "empathy"])
def test_equations_18_19_20_the_traits_are_whole_numbers_from_1_to_5(trait):
    """S, L and E; 3, the middle, where none is given."""
    assert [getattr(Disposition(**{trait: level}), trait) for level in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 5]
    assert getattr(Disposition(), trait) == 3
    for level in (0, 6, -1, 2.5):
        with pytest.raises(InvalidInput, match="whole numbers from 1 to 5"):
            Disposition(**{trait: level})


def test_equation_21_the_bias_strength_lies_from_0_to_1():
    assert [Disposition(bias_strength=beta).bias_strength for beta in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    for beta in (-0.001, 1.001, float("nan")):
        with pytest.raises(InvalidInput, match="bias_strength"):
            Disposition(bias_strength=beta)


async def test_equation_22_a_banks_profile():
    """P = (n, Theta, h), kept with the bank, and what reflecting is introduced with."""
    theta = Disposition(skepticism=1, literalism=2, empathy=5, bias_strength=0.9)
    profile = Profile(name="Iris", disposition=theta, background="I was born in Texas.")
    async with opened() as iris:
        await iris.profile(profile)
        kept = await read_profile(iris.store)
    assert (kept.name, kept.disposition, kept.background) == ("Iris", theta, "I was born in Texas.")
    assert [
        part in introduce_profile(kept) for part in ("Iris", "I was born in Texas.", verbalize_disposition(theta))
    ] == [True] * 3


def test_equation_23_a_disposition_in_words():
    """Figure 5's two: trusting, flexible, empathetic (1, 2, 5); skeptical, literal, detached (5, 5, 1). Each number
    has words of its own, and beta one of three frames, cut half way between 0, 0.5 and 1."""
    soft = verbalize_disposition(Disposition(skepticism=1, literalism=2, empathy=5))
    hard = verbalize_disposition(Disposition(skepticism=5, literalism=5, empathy=1))
    for text, words in (
        (soft, ("You trust", "loosely", "empathetic")),
        (hard, ("skeptical", "exactly as they stand", "detached")),
    ):
        assert [word in text for word in words] == [True] * 3
    assert not any(word in soft for word in ("skeptical", "exactly", "detached"))
    frames = [
        verbalize_disposition(Disposition(bias_strength=beta)).split("\n")[0] for beta in (0, 0.24, 0.25, 0.74, 0.75, 1)
    ]
    assert [frames.index(frame) for frame in frames] == [0, 0, 2, 2, 4, 4]


async def test_equation_24_an_opinion():
    """o = (t, c, tau, b, E); with it every step that made it what it is, and the messages that it goes back to."""
    async with opened() as iris:
        await iris.fact("f1", "Ada plots with Python.", "Ada")
        await iris.take(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1"], "Python", "Ada"), at=NOW)
        (held,) = await iris.opinions()
        assert iris.store.name == "iris"
        (kept,) = await iris.store.items_of([ItemKind.OPINION])
    assert (held.text, held.confidence, held.formed, set(held.entities)) == (PYTHON, 0.7, NOW, {"Python", "Ada"})
    assert (held.evidence, held.sources) == ({"f1"}, ("m-f1",))
    assert (kept.text, kept.confidence, kept.mentioned) == (PYTHON, 0.7, NOW)
    with pytest.raises(ValueError, match="between 0 and 1"):
        FormedOpinion(statement="I think so.", reasoning="So.", confidence=1.1, entities=(), rests_on=(1,))


def test_equation_25_candidates():
    """Entities of the fact {e1, e2}, its vector (1, 0); theta 0.5, which a cosine must pass. Of (0.5, 0.866) the cosine
    is 0.5, of (0.6, 0.8) 0.6.

    Ours keeps the eight that are most alike, and leaves out opinions that the fact made or moved already.
    """

    def candidate(id_, vector, *entities):
        opinion = Opinion(id=id_, text="", confidence=0.5, formed=AT, entities=(), sources=(), steps=())
        return OpinionCandidate(
            opinion=opinion, entities=frozenset(entities), vector=np.array(vector, dtype=np.float32)
        )

    among = [
        candidate("shares e2, unlike", (0, 1), "e2", "e3"),
        candidate("shares none, unlike", (0, 1), "e3"),
        candidate("at theta", (0.5, 0.8660254)),
        candidate("past theta", (0.6, 0.8)),
        candidate("both", (0.8, 0.6), "e1"),
    ]
    found = select_candidates(frozenset(("e1", "e2")), np.array([1, 0], dtype=np.float32), among, ReinforceSettings())
    assert [one.opinion.id for one in found] == ["both", "past theta", "shares e2, unlike"]
    crowd = [candidate(f"o{n}", (n / 16, (1 - n * n / 256) ** 0.5), "e1") for n in range(12)]
    found = select_candidates(frozenset(("e1",)), np.array([1, 0], dtype=np.float32), crowd, ReinforceSettings())
    assert [one.opinion.id for one in found] == [f"o{n}" for n in (11, 10, 9, 8, 7, 6, 5, 4)]


@pytest.mark.parametrize(
    ("before", "alpha", "reinforce", "weaken", "contradict"),
    [
        (0.50, 0.15, 0.65, 0.35, 0.20),
        (0.90, 0.15, 1.00, 0.75, 0.60),  # 1.05 is too much
        (0.25, 0.15, 0.40, 0.10, 0.00),  # -0.05 is too little
        (0.10, 0.15, 0.25, 0.00, 0.00),
        (1.00, 0.40, 1.00, 0.60, 0.20),
        (0.00, 0.40, 0.40, 0.00, 0.00),
    ],
)
def test_equation_26_one_update(before, alpha, reinforce, weaken, contradict):
    after = [
        update_confidence(before, Assessment(said), alpha) for said in ("reinforce", "weaken", "contradict", "neutral")
    ]
    assert after == [pytest.approx(value) for value in (reinforce, weaken, contradict, before)]


VERDICTS = ("reinforce", "weaken", "contradict", "neutral")
TIMES_ALPHA = {"reinforce": 1, "weaken": -1, "contradict": -2}


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0.01, 0.99),
    st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=5).flatmap(
        lambda said: st.tuples(st.just(said), st.lists(st.integers(0, len(said) - 1), max_size=8))
    ),
)
@example(0.7, 0.15, (["contradict", "reinforce", "weaken"], [2, 0, 1, 0, 2]))
@example(0.1, 0.4, (["contradict", "reinforce", "reinforce", "reinforce"], [1, 2, 3, 0, 0]))
def test_equation_26_moves_confidence_and_nothing_else_does_whatever_the_order(before, alpha, evidence):
    """Facts in any order, some again and again, through the job and the bank: each moves the opinion once, by +a, -a or
    -2a and no further than 0 and 1; neutral ones leave no trace."""
    said, order = evidence
    taken = [at for at in dict.fromkeys(order) if said[at] != "neutral"]
    wanted = [before]
    for at in taken:
        wanted.append(min(max(wanted[-1] + TIMES_ALPHA[said[at]] * alpha, 0.0), 1.0))
    held = asyncio.run(worked(before, alpha, said, order))
    assert [one.confidence for one in held.steps] == pytest.approx(wanted, abs=1e-12)
    assert all(0.0 <= one.confidence <= 1.0 for one in held.steps)
    assert [(one.assessment, one.evidence) for one in held.steps[1:]] == [(said[at], (f"f{at}",)) for at in taken]
    assert held.confidence == held.steps[-1].confidence


async def worked(before, alpha, said, order):
    """The opinion after a bank has held its facts against it in this order; what each says of it is fixed."""

    def assess(prompt, answer_type):
        verdict = said[int(prompt.subject.removeprefix("f"))]
        return Assessments(assessments=(OpinionAssessment(number=1, assessment=verdict, reason="because"),))

    async with opened() as iris:
        for n in range(len(said)):
            await iris.fact(f"f{n}", f"Python news {n}.", "Python", at=AT + timedelta(hours=n))
        await iris.fact("why", "Ada likes Python.", "Python")
        await iris.opinion("py", PYTHON, before, ["why"], "Python")
        reinforcer = Reinforcer(replace(iris.parts(), model=FunctionModel(assess)), ReinforceSettings(alpha=alpha))
        for at in order:
            await iris.work(reinforcer, f"f{at}")
        (held,) = await iris.opinions()
    return held


async def test_equation_27_background_merging():
    """Figure 6: the newer birthplace holds, the experience is added, and all of it is said in the first person. The
    snippet is put in the first person by rule, before the model sees it; the first one is taken without a model."""
    born, snippet = "I was born in Colorado.", "You were born in Texas and have 10 years of startup experience."
    merged = "I was born in Texas and have 10 years of startup experience."
    model = ScriptedModel([MergedBackground(background=merged)])
    assert await merge_background("", "You were born in Colorado.", model) == born
    assert await merge_background(born, snippet, model) == merged
    (prompt,) = model.prompts
    assert [text in prompt.text for text in (born, merged, "You were")] == [True, True, False]
    for wrong in ("You were born in Texas.", "I" + " am" * 200, " "):
        with pytest.raises(ValueError, match="background"):
            MergedBackground(background=wrong)


async def test_equations_28_29_30_the_example_trajectory():
    """0.70; reinforced: 0.70 + 0.15 = 0.85; contradicted: 0.85 - 2 * 0.15 = 0.55, with a more qualified text."""
    said = (
        OpinionAssessment(number=1, assessment="reinforce", reason="It leads."),
        OpinionAssessment(number=1, assessment="contradict", reason="It is slow.", text=TRADE_OFFS),
    )
    async with opened() as iris:
        for n, text in enumerate(["Ada uses Python.", "Python leads in AI.", "Julia is faster than Python."]):
            await iris.fact(f"f{n}", text, "Python", at=AT + timedelta(days=n))
        await iris.opinion("py", PYTHON, 0.70, ["f0"], "Python")
        reinforcer = Reinforcer(iris.parts(*(Assessments(assessments=(one,)) for one in said)))
        await iris.work(reinforcer, "f1", now=NOW)
        await iris.work(reinforcer, "f2", now=NOW + timedelta(days=1))
        (held,) = await iris.opinions()
    assert [(one.text, pytest.approx(one.confidence, abs=1e-12), one.at) for one in held.steps] == [
        (PYTHON, 0.70, AT),
        (PYTHON, 0.85, NOW),
        (TRADE_OFFS, 0.55, NOW + timedelta(days=1)),
    ]


def fact(what, type_, *messages, relations=()):
    toby = (NamedEntity(name="Toby", kind="person"),)
    return ExtractedFact(what=what, type=type_, messages=messages, entities=toby, relations=relations)


EXTRACTED = ExtractedFacts(
    facts=(
        fact("Toby adopted a dog from the shelter.", "world", 1),
        fact("Toby's dog Rex is old.", "world", 1),
        fact(
            "I recommended a vet to Toby.", "experience", 2, relations=(CausalRelation(target=2, relation="caused_by"),)
        ),
        fact("I think Toby is kind to animals.", "opinion", 2),
    )
)


def retaining(prompt, answer_type):
    """The adoption speaks for the opinion, the other facts say nothing of it."""
    if answer_type is ExtractedFacts:
        return EXTRACTED
    if answer_type is Observations:
        return Observations(observations=(ExtractedObservation(text="Toby has an old dog, Rex.", facts=(1, 2)),))
    verdict = "reinforce" if "adopted" in prompt.text else "neutral"
    return Assessments(assessments=(OpinionAssessment(number=1, assessment=verdict, reason="because"),))


async def test_equation_31_retain_changes_the_four_networks():
    """M' = {W', B', O', S'}: two facts of the world, one experience, one opinion that the adoption moved from 0.6 by
    0.15, one observation; a causal link of weight 1. Each fact is in one network.

    Ours keeps the words first, and does the rest in the background. It does not merge backgrounds by itself (the
    paper's fifth step): that is asked for by ``bank.add_background``.
    """
    model = FunctionModel(retaining)
    said = [
        Message(text="Toby adopted a dog, Rex. It is old.", speaker="Ada", id="m1", at=AT),
        Message(text="Take him to a vet. How kind!", speaker="Iris", role=Voice.ASSISTANT, id="m2", at=AT),
    ]
    async with Memory.open(
        ":memory:", embedder=HashEmbedder(), recipe="hindsight", model=model, clock=lambda: NOW
    ) as memory:
        bank = await memory.bank("iris")
        receipt = await bank.retain(said, session="s1", wait=True)
        facts, observations = await bank.items(ItemKind.FACT), await bank.observations()
        (held,) = await bank.opinions()
        links = (await bank.info()).links_by_kind
    assert receipt.notes == ()
    networks = {network: {one.text for one in facts if one.network is network} for network in Network}
    assert {network: len(texts) for network, texts in networks.items()} == {Network.WORLD: 2, Network.EXPERIENCE: 1}
    assert networks[Network.EXPERIENCE] == {"I recommended a vet to Toby."}
    assert [(one.assessment, pytest.approx(one.confidence)) for one in held.steps] == [
        ("formed", 0.6),
        ("reinforce", 0.75),
    ]
    assert [(one.text, one.confidence) for one in observations] == [("Toby has an old dog, Rex.", None)]
    assert links[LinkKind.CAUSAL] == 1


async def test_equation_34_reflect_answers_and_adds_to_the_opinions():
    """(r, O'): O' is O and what was formed; the model saw all four networks, and the others are as they were."""
    thought = FormedOpinion(
        statement="I think Toby should walk Rex less.",
        reasoning="Rex is old.",
        confidence=0.8,
        entities=("Toby",),
        rests_on=(1,),
    )
    reply = ReflectReply(answer="Less, I think.", abstained=False, citations=(1,), opinions=(thought,))
    async with opened() as iris:
        await iris.fact("w", "Toby walks his old dog Rex daily.", "Toby")
        await iris.fact("b", "I recommended a vet to Toby.", "Toby", network=Network.EXPERIENCE)
        await iris.fact("s", "Toby has a dog.", "Toby", kind=ItemKind.OBSERVATION)
        await iris.opinion("kind", "I think Toby is kind. He has a dog.", 0.6, ["w"], "Toby")
        others = [ItemKind.FACT, ItemKind.OBSERVATION]
        before = await iris.store.items_of(others)
        parts = iris.parts(reply)
        response = await Reflector(parts).respond(query("How should Toby walk his dog Rex?"), iris.store)
        assert len(await iris.opinions()) == 1  # nothing is written before the answer is taken
        await iris.store.commit(await derive_changes(iris.store, response.derive))
        held = await iris.opinions()
        assert await iris.store.items_of(others) == before
    (prompt,) = parts.model.prompts
    sections = ("world_facts", "experience_facts", "observations", "opinions")
    assert [f"<{section}>" in prompt.text for section in sections] == [True] * 4
    assert response.answer.text == "Less, I think."
    assert {(one.text, one.confidence) for one in held} == {
        ("I think Toby is kind. He has a dog.", 0.6),
        ("I think Toby should walk Rex less. Rex is old.", 0.8),
    }
