from itertools import islice

from benchmarks.corpus import SPEAKERS, Corpus, vocabulary
from recollect.text.terms import split_words


def texts(corpus):
    return [(m.id, m.speaker, m.text, m.at) for m in corpus.messages()]


def test_the_same_seed_gives_the_same_messages_and_questions():
    one, other = Corpus(items=300, needles=20, seed=3), Corpus(items=300, needles=20, seed=3)
    assert texts(one) == texts(other)
    assert one.planted() == other.planted()
    assert one.fingerprint() == other.fingerprint()


def test_another_seed_gives_others():
    assert Corpus(items=50).fingerprint() != Corpus(items=50, seed=1).fingerprint()


def test_what_is_made_up_is_pinned():
    # Figures measured on another corpus cannot be compared: change this only along with every result.
    assert Corpus(items=1000, needles=200).fingerprint().startswith("75593d4f85f97130")


def test_batches_hold_every_message_once():
    batches = list(Corpus(items=130).batches(50))
    assert [len(batch.messages) for batch in batches] == [50, 50, 30]
    assert len({batch.session for batch in batches}) == 3
    assert [m.id for batch in batches for m in batch.messages] == [m.id for m in Corpus(items=130).messages()]


def test_time_goes_forward():
    times = [message.at for message in Corpus(items=200).messages()]
    assert times == sorted(times)
    assert times[0].tzinfo is not None


def test_facts_are_planted_where_their_question_looks():
    corpus = Corpus(items=200, needles=20)
    by_id = {message.id: message for message in corpus.messages()}
    needles = corpus.planted()
    assert len({needle.message for needle in needles}) == 20
    for needle in needles:
        assert by_id[needle.message].text.startswith(needle.text)
        shared = set(split_words(needle.question)) & set(split_words(needle.text))
        assert len(shared) >= 2
        assert not any(name in needle.question and name != by_id[needle.message].speaker for name in SPEAKERS)


def test_facts_are_at_most_a_fifth():
    assert len(Corpus(items=100, needles=500).planted()) == 20


def test_talk_is_as_long_and_as_repetitive_as_people_are():
    said = [message.text for message in islice(Corpus(items=2000).messages(), 2000)]
    mean = sum(len(split_words(text)) for text in said) / len(said)
    assert 19 < mean < 25
    assert 2000 < len({word for text in said for word in split_words(text)}) < 4000
    assert 0.2 < sum(text.endswith("?") for text in said) / len(said) < 0.3


def test_vocabulary_has_no_word_twice():
    assert len(set(vocabulary())) == len(vocabulary())
