"""Profiles and dispositions: their bounds, how a bank keeps them, and what they are in words (equations 18 to 23)."""

from itertools import product

import pytest
from cara_bank import opened

from recollect.domain.banks import Disposition, Profile
from recollect.domain.changes import Changeset
from recollect.errors import InvalidInput, NotABank
from recollect.methods.hindsight.disposition import (
    EMPATHY,
    LITERALISM,
    SKEPTICISM,
    BiasRegime,
    choose_regime,
    verbalize_disposition,
)
from recollect.store.profile_setting import make_profile_setting, read_profile

LEVELS = range(1, 6)


@pytest.mark.parametrize("trait", ["skepticism", "literalism", "empathy"])
@pytest.mark.parametrize("level", [0, 6, -1, 2.5])
def test_traits_are_whole_numbers_from_1_to_5(trait, level):
    with pytest.raises(InvalidInput, match="whole numbers from 1 to 5"):
        Disposition(**{trait: level})


@pytest.mark.parametrize("beta", [-0.01, 1.01, float("nan"), float("inf")])
def test_the_bias_strength_lies_between_0_and_1(beta):
    with pytest.raises(InvalidInput, match="bias_strength"):
        Disposition(bias_strength=beta)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_every_value_within_bounds_is_fine(level, beta):
    Disposition(skepticism=level, literalism=level, empathy=level, bias_strength=beta)


def test_every_combination_of_levels_and_regimes_reads_differently():
    texts = {
        verbalize_disposition(Disposition(skepticism=s, literalism=t, empathy=e, bias_strength=beta))
        for s, t, e, beta in product(LEVELS, LEVELS, LEVELS, (0.0, 0.5, 1.0))
    }
    assert len(texts) == 5 * 5 * 5 * 3


@pytest.mark.parametrize("words", [SKEPTICISM, LITERALISM, EMPATHY])
def test_each_trait_has_five_levels_in_different_words(words):
    assert len(set(words)) == len(words) == 5


@pytest.mark.parametrize(
    ("beta", "regime"),
    [
        (0.0, BiasRegime.OBJECTIVE),
        (0.24, BiasRegime.OBJECTIVE),
        (0.25, BiasRegime.BALANCED),
        (0.5, BiasRegime.BALANCED),
        (0.74, BiasRegime.BALANCED),
        (0.75, BiasRegime.STRONG),
        (1.0, BiasRegime.STRONG),
    ],
)
def test_the_three_regimes_of_bias_strength(beta, regime):
    assert choose_regime(beta) is regime


@pytest.mark.parametrize(
    ("beta", "said", "not_said"),
    [
        (0.0, "Be objective", "strongly opinionated"),
        (0.5, "Balance the two", "Be objective"),
        (1.0, "Be strongly opinionated", "Be objective"),
    ],
)
def test_the_regime_says_how_far_character_may_shape_a_judgement(beta, said, not_said):
    text = verbalize_disposition(Disposition(bias_strength=beta))
    assert said in text
    assert not_said not in text


def test_the_papers_two_agents_are_told_opposite_things():
    trusting = verbalize_disposition(Disposition(skepticism=1, literalism=2, empathy=5))
    skeptical = verbalize_disposition(Disposition(skepticism=5, literalism=5, empathy=1))
    assert all(words in trusting for words in ("You trust what you are told", "loosely", "deeply empathetic"))
    assert all(words in skeptical for words in ("deeply skeptical", "exactly as they stand", "detached"))


def test_a_profile_needs_a_name():
    with pytest.raises(InvalidInput, match="name"):
        Profile(name=" ")


async def test_a_bank_without_a_profile_is_named_after_itself():
    async with opened() as iris:
        assert await read_profile(iris.store) == Profile(name="iris")


async def test_a_bank_keeps_its_profile():
    profile = Profile(
        name='Iris "Ö"',
        background="I was born in Texas.",
        disposition=Disposition(skepticism=5, literalism=1, empathy=2, bias_strength=0.9),
    )
    async with opened() as iris:
        await iris.profile(Profile(name="Somebody else"))
        await iris.profile(profile)
        assert await read_profile(iris.store) == profile


@pytest.mark.parametrize(
    "value", ["", "[]", '"x"', '{"name": 3}', '{"name": " "}', '{"name": "x", "disposition": {"empathy": 9}}']
)
async def test_a_profile_that_cannot_be_read_is_said_to_be_damaged(value):
    key, _ = make_profile_setting(Profile(name="x"))
    async with opened() as iris:
        await iris.store.commit(Changeset(settings=((key, value),)))
        with pytest.raises(NotABank, match="iris"):
            await read_profile(iris.store)
