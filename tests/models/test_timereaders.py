"""Reading times with a sequence-to-sequence model: the parsing always, a tiny random T5 where torch is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from recollect.domain.time import Interval, Precision
from recollect.errors import MissingExtra, ModelUnavailable
from recollect.models.time_reader import make_day_range
from recollect.models.time_readers.seq2seq import Seq2SeqTimeReader, build_time_prompt, parse_range

NOW = datetime(2024, 5, 15, 23, 30, tzinfo=ZoneInfo("America/Lima"))
MARCH = "2024-03-01 to 2024-03-31"


class TestRange:
    def test_both_days_are_in_it(self) -> None:
        assert parse_range(MARCH, UTC) == Interval(
            start=datetime(2024, 3, 1, tzinfo=UTC), end=datetime(2024, 4, 1, tzinfo=UTC), precision=Precision.RANGE
        )

    def test_one_day_is_a_day(self) -> None:
        found = parse_range(" 2024-02-29 to 2024-02-29\n", UTC)
        assert found == make_day_range(date(2024, 2, 29), date(2024, 2, 29), UTC)
        assert found is not None
        assert found.precision is Precision.DAY

    def test_days_are_those_of_the_asker(self) -> None:
        found = parse_range(MARCH, NOW.tzinfo)
        assert found is not None
        assert found.start == datetime(2024, 3, 1, 5, tzinfo=UTC)

    @pytest.mark.parametrize(
        "answer",
        [
            "",
            "none",
            "2024-03-01",
            "2024-03-01 - 2024-03-31",
            "2024-03-31 to 2024-03-01",
            "2024-02-30 to 2024-03-01",
            "2024-13-01 to 2024-13-02",
            "0000-01-01 to 0000-01-02",
            "9999-12-30 to 9999-12-31",
            "2024-3-1 to 2024-3-31",
            f"Dates: {MARCH}",
            f"{MARCH} or so",
            f"{MARCH}\n{MARCH}",
            "٢٠٢٤-03-01 to 2024-03-31",
        ],
    )
    def test_anything_else_is_nothing(self, answer: str) -> None:
        assert parse_range(answer, UTC) is None


def test_the_prompt_shows_solved_questions() -> None:
    assert build_time_prompt("What is planned\nfor March? \ud83d", NOW.date()) == (
        "Today is Wednesday, 2024-05-15. Which dates does the question ask about? "
        "Answer with the first and the last date, or with none.\n\n"
        "Question: What did we eat yesterday?\nDates: 2024-05-14 to 2024-05-14\n\n"
        "Question: Where does Sam keep the ladder?\nDates: none\n\n"
        "Question: Who visited us last month?\nDates: 2024-04-01 to 2024-04-30\n\n"
        "Question: What is planned for March? ?\nDates:"
    )


def test_a_question_of_any_length_leaves_room_for_the_rest() -> None:
    assert len(build_time_prompt("words " * 10_000, NOW.date())) < 1_000


class _Loaded:
    """Stands in for transformers' tokenizer and model: tells what ``told`` says, and keeps what it was asked."""

    device = "cpu"

    def __init__(self, told: str = MARCH) -> None:
        self.told, self.prompts, self.settings, self.loads = told, [], {}, 0

    def from_pretrained(self, source: str) -> _Loaded:
        if source == "broken":
            raise OSError("no such model")
        self.loads += 1
        return self

    def eval(self) -> _Loaded:
        return self

    def to(self, device: str) -> _Loaded:
        self.device = device
        return self

    def __call__(self, prompt: str, **settings: object) -> object:
        self.prompts.append(prompt)
        return _Batch(input_ids=[[1]])

    def generate(self, **settings: object) -> list[list[int]]:
        if self.told == "fail":
            raise RuntimeError("out of memory")
        self.settings = settings
        return [[2]]

    def decode(self, tokens: list[int], *, skip_special_tokens: bool) -> str:
        return self.told


class _Batch(dict[str, object]):
    def to(self, device: str) -> _Batch:
        return self


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> _Loaded:
    loaded = _Loaded()
    library = SimpleNamespace(AutoTokenizer=loaded, AutoModelForSeq2SeqLM=loaded)
    monkeypatch.setitem(sys.modules, "transformers", library)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    return loaded


class TestReader:
    async def test_what_the_model_says_is_read(self, stand_in: _Loaded) -> None:
        reader = Seq2SeqTimeReader("google/flan-t5-small", device="cpu")
        assert await reader.read("What is planned for March?", NOW) == parse_range(MARCH, NOW.tzinfo)
        assert stand_in.prompts == [build_time_prompt("What is planned for March?", date(2024, 5, 15))]
        assert stand_in.settings["do_sample"] is False
        assert reader.name == "google/flan-t5-small"

    async def test_it_is_loaded_once(self, stand_in: _Loaded) -> None:
        reader = Seq2SeqTimeReader("m")
        assert stand_in.loads == 0
        for _ in range(3):
            await reader.read("What is planned for March?", NOW)
        assert stand_in.loads == 2  # a tokenizer and a model

    async def test_nonsense_is_nothing(self, stand_in: _Loaded) -> None:
        stand_in.told = "march march march"
        assert await Seq2SeqTimeReader("m").read("What is planned for March?", NOW) is None

    async def test_a_models_failure_is_one_of_ours(self, stand_in: _Loaded) -> None:
        with pytest.raises(ModelUnavailable, match=r"broken .*no such model"):
            await Seq2SeqTimeReader("broken").read("In March?", NOW)
        stand_in.told = "fail"
        with pytest.raises(ModelUnavailable, match="out of memory") as caught:
            await Seq2SeqTimeReader("m").read("In March?", NOW)
        assert isinstance(caught.value.__cause__, RuntimeError)


async def test_a_missing_folder_is_told_without_loading_torch(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="is no folder"):
        await Seq2SeqTimeReader(tmp_path / "none").read("In March?", NOW)


@pytest.mark.parametrize("package", ["transformers", "torch"])
async def test_the_extra_is_asked_for_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, stand_in: _Loaded, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"recollect\[transformers\]"):
        await Seq2SeqTimeReader("some/model").read("In March?", NOW)


CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,?!:-\n"


def _write_t5(folder: Path) -> Path:
    """A random T5 with two layers of 32 numbers, and a tokenizer of single characters, in a folder."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    torch.manual_seed(0)
    vocabulary = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *CHARACTERS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("[\\s\\S]"), "isolated")
    backend.decoder = tokenizers.decoders.Fuse()
    marks = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=512, **marks)
    fast.save_pretrained(folder)
    config = transformers.T5Config(
        vocab_size=len(vocabulary),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        tie_word_embeddings=False,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tiny model; one thread is enough for it, and several on a busy machine wait for each other."""
    folder, torch = _write_t5(tmp_path_factory.mktemp("t5")), pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield folder
    torch.set_num_threads(threads)


@pytest.mark.heavy
class TestTinyT5:
    async def test_a_random_model_talks_nonsense_and_that_is_nothing(self, folder: Path) -> None:
        reader = Seq2SeqTimeReader(folder, device="cpu")
        assert await reader.read("What is planned for March?", NOW) is None

    async def test_a_model_that_has_learned_the_answer_is_believed(self, folder: Path, tmp_path: Path) -> None:
        """It is taught one answer by heart, so that loading, asking, generating and decoding are seen to work."""
        transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
        torch.manual_seed(0)
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(folder)).eval()
        prompt = build_time_prompt("What is planned for March?", NOW.date())
        asked = tokenizer(prompt, return_tensors="pt", truncation=True, max_length=512)
        labels = torch.tensor([[*tokenizer(MARCH).input_ids, tokenizer.eos_token_id]])
        with torch.no_grad():
            encoded = model.get_encoder()(**asked)
        learning = [*model.decoder.block.parameters(), *model.lm_head.parameters()]  # what is read stays as it was
        optimizer = torch.optim.AdamW(learning, lr=5e-3)
        for _ in range(1_000):
            loss = model(encoder_outputs=encoded, attention_mask=asked.attention_mask, labels=labels).loss
            if loss.item() < 0.05:
                break
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        read = await Seq2SeqTimeReader(tmp_path).read("What is planned for March?", NOW)
        assert read == parse_range(MARCH, NOW.tzinfo)

    async def test_a_damaged_folder_is_told(self, tmp_path: Path) -> None:
        pytest.importorskip("transformers")
        (tmp_path / "config.json").write_text("{", encoding="utf-8")
        with pytest.raises(ModelUnavailable, match="could not be loaded"):
            await Seq2SeqTimeReader(tmp_path).read("In March?", NOW)
