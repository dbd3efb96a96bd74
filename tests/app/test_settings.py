"""Settings from the environment, from a file and from arguments, and the language models that they choose."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recollect import Message
from recollect.app import Memory, Settings, build_language_model, build_model, load_settings, open_memory
from recollect.app.models import choose_model
from recollect.app.settings import ModelSpec
from recollect.domain.limits import Limit, Period
from recollect.errors import InvalidInput, LimitReached
from recollect.models.language import ModelRole
from recollect.models.languages.cached import CachedModel
from recollect.models.languages.pydantic_ai import PydanticModel
from recollect.models.languages.role_models import RoleModels, choose_for_role
from recollect.models.languages.settings import CallSettings
from recollect.models.languages.unconfigured import UnconfiguredModel
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel

KEY, OTHER_KEY = "sk-1234567890", "sk-0987654321"
URL, OTHER_URL = "http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"
NOW = datetime(2024, 5, 1, 13, 30, tzinfo=UTC)
TWO_LIMITS = (Limit(tokens=2_000_000, per=Period.DAY), Limit(tokens=500_000, per=Period.DAY, role="extract"))

FILE = """
embedder = "wordllama-128"
limits = "2M/day,extract=500k/day"
cache = "replies"

[model]
name = "openai:qwen3"
base_url = "http://127.0.0.1:9/v1"
api_key_env = "MY_KEY"
timeout = 20
structured = "prompted"

[models]
consolidate = "anthropic:claude-haiku-4-5"

[models.assist]
name = "openai:qwen3-4b"
temperature = "none"
concurrency = 2
"""


@pytest.fixture
def made(monkeypatch):
    """What adapters were made with, by their names."""
    seen: dict[str, dict] = {}
    init = PydanticModel.__init__

    def spy(self, name, **given):
        seen.setdefault(name, []).append(given)
        init(self, name, **given)

    monkeypatch.setattr(PydanticModel, "__init__", spy)
    return seen


def place(made, name):
    (given,) = made[name]
    return given["base_url"], given["api_key"]


# ---- the environment


def test_nothing_set_is_no_model():
    settings = load_settings({})
    assert settings == Settings()
    assert isinstance(build_language_model(settings), UnconfiguredModel)
    assert isinstance(build_model("none"), UnconfiguredModel)


def test_the_environment_chooses_models_limits_and_cache():
    settings = load_settings(
        {
            "RECOLLECT_STORE": "s",
            "RECOLLECT_MODEL": "openai:gpt-5-mini",
            "RECOLLECT_MODEL_ASSIST": "openai:gpt-5-nano",
            "RECOLLECT_MODEL_CONSOLIDATE": "",
            "RECOLLECT_BASE_URL": URL,
            "RECOLLECT_API_KEY": KEY,
            "RECOLLECT_MODEL_TIMEOUT": "7.5",
            "RECOLLECT_LIMITS": "2M/day,extract=500k/day",
            "RECOLLECT_CACHE": "kept",
        }
    )
    assert settings == Settings(
        store="s",
        api_key=KEY,
        model="openai:gpt-5-mini",
        base_url=URL,
        call=CallSettings(timeout=7.5),
        models={ModelRole.ASSIST: ModelSpec(name="openai:gpt-5-nano")},
        limits={"default": TWO_LIMITS},
        cache="kept",
    )
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("RECOLLECT_MODEL_TIMEOUT", "soon", "a number of seconds"),
        ("RECOLLECT_MODEL_TIMEOUT", "0", "timeout"),
        ("RECOLLECT_LIMITS", "much", "limits are written like"),
        ("RECOLLECT_LIMITS", "thinking=5", "no role 'thinking'. The roles are: extract, consolidate"),
        ("RECOLLECT_CONFIG", "/nowhere/at/all.toml", "no such file"),
    ],
)
def test_what_the_environment_says_is_looked_at(variable, value, told):
    with pytest.raises(InvalidInput, match=told):
        load_settings({variable: value})


# ---- the file


@pytest.fixture
def store(tmp_path):
    (tmp_path / "recollect.toml").write_text(FILE)
    return str(tmp_path)


def test_the_stores_file_is_read(store, tmp_path):
    settings = load_settings({"MY_KEY": KEY}, store=store)
    call = CallSettings(timeout=20, structured="prompted")
    assert settings == Settings(
        store=store,
        embedder="wordllama-128",
        model="openai:qwen3",
        base_url=URL,
        model_key=KEY,
        call=call,
        models={
            ModelRole.CONSOLIDATE: ModelSpec(name="anthropic:claude-haiku-4-5"),
            ModelRole.ASSIST: ModelSpec(
                name="openai:qwen3-4b",
                call=CallSettings(timeout=20, structured="prompted", temperature=None, concurrency=2),
            ),
        },
        limits={"default": TWO_LIMITS},
        cache=str(tmp_path / "replies"),
    )
    assert KEY not in repr(settings)


def test_another_file_may_be_named(store, tmp_path):
    named = load_settings({"MY_KEY": KEY, "RECOLLECT_CONFIG": f"{store}/recollect.toml"}, store="elsewhere")
    assert (named.store, named.model) == ("elsewhere", "openai:qwen3")


def test_the_environment_comes_before_the_file(store):
    environ = {
        "MY_KEY": KEY,
        "RECOLLECT_EMBEDDER": "wordllama",
        "RECOLLECT_MODEL": "anthropic:claude-sonnet-5",
        "RECOLLECT_MODEL_ASSIST": "openai:other",
        "RECOLLECT_MODEL_TIMEOUT": "5",
        "RECOLLECT_LIMITS": "7",
        "RECOLLECT_CACHE": "kept",
    }
    settings = load_settings(environ, store=store)
    assert (settings.embedder, settings.limits, settings.cache) == (
        "wordllama",
        {"default": (Limit(tokens=7),)},
        "kept",
    )
    # The file's address and key are not for another model than the file's.
    assert (settings.model, settings.base_url, settings.model_key) == ("anthropic:claude-sonnet-5", None, None)
    assert settings.call == CallSettings(timeout=5, structured="prompted")
    assert settings.models == {
        ModelRole.CONSOLIDATE: ModelSpec(name="anthropic:claude-haiku-4-5"),
        ModelRole.ASSIST: ModelSpec(name="openai:other"),
    }
    kept = load_settings({"MY_KEY": KEY, "RECOLLECT_MODEL_TIMEOUT": "5"}, store=store).models[ModelRole.ASSIST]
    assert kept.call.timeout == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("embeder = 'x'", "'embeder' is not a setting. Choose one of: embedder"),
        ("embedder = 3", "embedder is 3. It must be a text"),
        ("model = 3", "PROVIDER:MODEL, or a table"),
        ("[model]\nbase_url = 'http://x'", "PROVIDER:MODEL, or a table"),
        ("[model]\nname = 'openai:x'\ntemprature = 1", "'temprature' is not a setting of a model"),
        ("[model]\nname = 'openai:x'\ntimeout = 'long'", "timeout"),
        ("[model]\nname = 'openai:x'\ntimeout = -1", "timeout"),
        ("[model]\nname = 'openai:x'\napi_key = 'sk-1'", "a key must not be in a file"),
        ("[model]\nname = 'openai:x'\napi_key_env = 'NO_SUCH'", "NO_SUCH, which is not set"),
        ("models = 3", "a table of roles"),
        ("[models]\nthinker = 'openai:x'", "no role 'thinker'"),
        ("limits = 'x'", "limits are written like"),
        ("limits = 5", "limits is 5. It must be a text"),
        ("limits = ''", "limits is ''"),
        ("[limits]\nada = 5", "ada is 5. It must be a text"),
        ("[limits]\nada = 'x'", "limits are written like"),
        ("[limits]\nada = 'thinking=5'", "no role 'thinking'"),
        ("= 3", "cannot be read"),
        ("\xff", "cannot be read"),
    ],
)
def test_what_a_file_says_is_looked_at(tmp_path, text, told):
    path = tmp_path / "recollect.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=told) as raised:
        load_settings({}, store=str(tmp_path))
    assert str(path) in str(raised.value)
    assert "sk-1" not in str(raised.value)


def test_a_bank_may_have_limits_of_its_own_in_the_file(tmp_path):
    (tmp_path / "recollect.toml").write_text('[limits]\nada = "5"\n"Zoe\u0308" = "extract=6/day"\nbob = ""\n')
    own = {"ada": (Limit(tokens=5),), "Zo\u00eb": (Limit(tokens=6, per=Period.DAY, role="extract"),), "bob": ()}
    assert load_settings({}, store=str(tmp_path)).limits == own
    # What the environment says of all banks leaves a bank its own, as RECOLLECT_MODEL does a role.
    named = load_settings({"RECOLLECT_LIMITS": "7"}, store=str(tmp_path))
    assert named.limits == {**own, "default": (Limit(tokens=7),)}


# ---- models


def test_roles_share_the_default_models_address_and_key_where_the_provider_is_the_same(made):
    settings = Settings(
        model="openai:large",
        base_url=URL,
        api_key=KEY,
        models={
            ModelRole.ASSIST: ModelSpec(name="openai:small"),
            ModelRole.CONSOLIDATE: ModelSpec(name="anthropic:claude"),
            ModelRole.ANSWER: ModelSpec(name=f"openai:other@{OTHER_URL}"),
            ModelRole.REFLECT: ModelSpec(name="openai:third", base_url=OTHER_URL, api_key=OTHER_KEY),
            ModelRole.EXTRACT: ModelSpec(name="none"),
        },
    )
    model = build_language_model(settings)
    assert isinstance(model, RoleModels)
    assert place(made, "openai:large") == (URL, KEY)
    assert place(made, "openai:small") == (URL, KEY)
    assert place(made, "anthropic:claude") == (None, None)
    assert place(made, "openai:other") == (OTHER_URL, None)
    assert place(made, "openai:third") == (OTHER_URL, OTHER_KEY)
    assert isinstance(choose_for_role(model, ModelRole.EXTRACT), UnconfiguredModel)
    fewer = build_language_model(replace(settings, models={ModelRole.ASSIST: ModelSpec(name="openai:small")}))
    assert choose_for_role(fewer, ModelRole.CONSOLIDATE).name == "openai:large"


def test_a_models_own_key_comes_before_that_of_all_endpoints(made):
    build_language_model(Settings(model="openai:x", api_key=KEY, model_key=OTHER_KEY))
    assert place(made, "openai:x") == (None, OTHER_KEY)


def test_an_address_in_the_default_models_name_is_the_roles_too(made):
    settings = Settings(
        model=f"openai:x@{URL}", api_key=KEY, models={ModelRole.CONSOLIDATE: ModelSpec(name="openai:y")}
    )
    build_language_model(settings)
    assert place(made, "openai:x") == place(made, "openai:y") == (URL, KEY)


def test_without_a_default_model_the_address_is_an_openai_compatible_one(made):
    models = {ModelRole.CONSOLIDATE: ModelSpec(name="openai:y"), ModelRole.ANSWER: ModelSpec(name="google:z")}
    model = build_language_model(Settings(base_url=URL, api_key=KEY, models=models))
    assert place(made, "openai:y") == (URL, KEY)
    assert place(made, "google:z") == (None, None)
    assert isinstance(choose_for_role(model, ModelRole.EXTRACT), UnconfiguredModel)


def test_roles_with_the_same_model_share_it():
    models = {
        ModelRole.CONSOLIDATE: ModelSpec(name="openai:x"),
        ModelRole.ASSIST: ModelSpec(name="openai:x", call=CallSettings(retries=0)),
    }
    model = build_language_model(Settings(model="openai:x", models=models))
    assert choose_for_role(model, ModelRole.CONSOLIDATE) is choose_for_role(model, ModelRole.EXTRACT)
    assert choose_for_role(model, ModelRole.ASSIST) is not choose_for_role(model, ModelRole.EXTRACT)


async def test_a_cache_stands_before_each_model(tmp_path, made):
    settings = Settings(model="openai:x", base_url=URL, cache=str(tmp_path))
    model = build_language_model(settings)
    assert isinstance(model, CachedModel)
    assert model.name == "openai:x"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai:", f"@{URL}"])
def test_a_models_name_is_looked_at(name):
    with pytest.raises(InvalidInput, match="PROVIDER:MODEL"):
        build_language_model(Settings(model=name))
    with pytest.raises(InvalidInput, match="PROVIDER:MODEL"):
        build_language_model(Settings(models={ModelRole.CONSOLIDATE: ModelSpec(name=name)}))


# ---- arguments


def test_an_argument_comes_before_settings(made):
    settings = Settings(
        model="openai:x", base_url=URL, api_key=KEY, models={ModelRole.CONSOLIDATE: ModelSpec(name="openai:j")}
    )
    own = ScriptedModel([])
    assert choose_model(own, settings) is own
    named = choose_model("openai:mine", settings)
    assert (choose_for_role(named, ModelRole.EXTRACT).name, choose_for_role(named, ModelRole.CONSOLIDATE).name) == (
        "openai:mine",
        "openai:j",
    )
    assert place(made, "openai:mine") == (URL, KEY)
    mixed = choose_model({"assist": "openai:small", ModelRole.ANSWER: own, "default": "openai:base"}, settings)
    assert choose_for_role(mixed, ModelRole.ASSIST).name == "openai:small"
    assert choose_for_role(mixed, ModelRole.ANSWER) is own
    assert choose_for_role(mixed, ModelRole.CONSOLIDATE).name == "openai:base"
    assert place(made, "openai:small") == (URL, KEY)
    only = choose_model({"answer": own}, settings)
    assert isinstance(choose_for_role(only, ModelRole.EXTRACT), UnconfiguredModel)
    assert isinstance(choose_model("none", Settings(model="openai:x")), UnconfiguredModel)
    with pytest.raises(InvalidInput, match="no role 'thinker'"):
        choose_model({"thinker": own}, settings)


async def test_a_memory_takes_models_and_limits(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match="PROVIDER:MODEL"):
        Memory.open(tmp_path, model="gpt")
    with pytest.raises(InvalidInput, match="limits are written like"):
        Memory.open(tmp_path, limits="much")
    monkeypatch.setenv("RECOLLECT_MODEL", "gpt")
    with pytest.raises(InvalidInput, match="PROVIDER:MODEL"):
        Memory.open(tmp_path)
    async with Memory.open(tmp_path, model=ScriptedModel([]), limits=[Limit(tokens=5)]) as memory:
        assert await memory.banks() == ()


async def test_a_memory_is_opened_from_settings_with_their_model(tmp_path):
    with pytest.raises(InvalidInput, match="PROVIDER:MODEL"):
        await open_memory(Settings(store=str(tmp_path), model="gpt"))
    async with await open_memory(Settings(store=str(tmp_path), model="openai:x", base_url=URL)) as memory:
        assert await memory.banks() == ()


async def test_settings_that_were_read_are_not_read_again(tmp_path, monkeypatch):
    (tmp_path / "recollect.toml").write_text("broken")
    monkeypatch.setenv("RECOLLECT_LIMITS", "much")
    with pytest.raises(InvalidInput, match=r"recollect\.toml cannot be read"):
        Memory.open(tmp_path)
    async with await open_memory(Settings(store=str(tmp_path))) as memory:
        assert await memory.banks() == ()
    with pytest.raises(InvalidInput, match="is an address"):
        await open_memory(Settings(store="postgresql://host/db"))


async def asked(memory, bank):
    """Whether a limit keeps a bank from asking, and which."""
    opened = await memory.bank(bank)
    await opened.retain(Message(speaker="Ada", text="I adopted Toby.", at=NOW), session="s")
    try:
        await opened.ask("Who is Toby?")
    except LimitReached as exc:
        return str(exc).partition(":")[0].removeprefix("no call past the limit of ")
    return None


@pytest.mark.parametrize("way", ["argument", "file", "settings"])
async def test_a_bank_has_its_own_limits_and_the_others_share_the_defaults(tmp_path, way, monkeypatch):
    monkeypatch.delenv("RECOLLECT_LIMITS", raising=False)
    limits = {"ada": "2", "bob": [Limit(tokens=3, role="answer")], "free": "", "default": "4/day"}
    model = FunctionModel(lambda prompt, kind: kind(reasoning="", answer="a dog", abstained=False, citations=(1,)))
    if way == "argument":
        memory = Memory.open(tmp_path, embedder=HashEmbedder(), model=model, limits=limits)
    else:
        table = '[limits]\nada = "2"\nbob = "answer=3"\nfree = ""\ndefault = "4/day"\n'
        (tmp_path / "recollect.toml").write_text(table)
        memory = Memory.open(tmp_path, embedder=HashEmbedder(), model=model)
        if way == "settings":
            settings = load_settings({}, store=str(tmp_path))
            memory = Memory.open(tmp_path, embedder=HashEmbedder(), model=model, limits=settings.limits)
    async with memory:
        told = [await asked(memory, bank) for bank in ("ada", "bob", "free", "carl", "default")]
    assert told == [
        "2 tokens in all",
        "3 tokens in all for answer",
        None,
        "4 tokens a day",
        "4 tokens a day",
    ]


async def test_without_a_default_only_the_banks_that_are_named_have_limits(tmp_path):
    model = FunctionModel(lambda prompt, kind: kind(reasoning="", answer="a dog", abstained=False, citations=(1,)))
    async with Memory.open(tmp_path, embedder=HashEmbedder(), model=model, limits={"ada": "2"}) as memory:
        assert await asked(memory, "ada") == "2 tokens in all"
        assert await asked(memory, "bob") is None
    with pytest.raises(InvalidInput, match="limits are written like"):
        Memory.open(tmp_path, limits={"ada": "much"})


# ---- who reads times


def day(prompt, kind):
    return kind(found=True, start="2024-03-31", end="2024-03-31")


@pytest.mark.parametrize("recipe", ["default", "hindsight"])
async def test_the_language_model_reads_times_where_it_is_told_to(tmp_path, recipe):
    for reader, read in (("model", 1), (None, 0)):
        model = FunctionModel(day)
        async with Memory.open(
            tmp_path, embedder=HashEmbedder(), model=model, time_reader=reader, recipe=recipe
        ) as memory:
            found = await (await memory.bank("ada")).recall("What did we eat at Easter?", now=NOW)
        assert [prompt.operation for prompt in model.prompts] == ["recall.time"] * read
        assert ("the time asked about was read by function" in found.receipt.notes) == bool(read)


async def test_the_time_reader_is_chosen_by_environment_and_file(tmp_path, monkeypatch):
    assert load_settings({"RECOLLECT_TIME_READER": "model"}).time_reader == "model"
    (tmp_path / "recollect.toml").write_text('time_reader = "model"\n')
    settings = load_settings({}, store=str(tmp_path))
    model = FunctionModel(day)
    monkeypatch.setattr("recollect.app.memory.build_language_model", lambda settings: model)
    async with await open_memory(settings) as memory:
        await (await memory.bank("ada")).recall("What did we eat at Easter?", now=NOW)
    assert len(model.prompts) == 1
    with pytest.raises(InvalidInput, match="none, model or st:NAME_OR_FOLDER"):
        await open_memory(replace(settings, time_reader="clock"))


def test_how_much_is_open_at_a_time_is_chosen_too(tmp_path):
    (tmp_path / "recollect.toml").write_text("open_banks = 7\nopen_megabytes = 8\n", "utf-8")
    filed = load_settings({}, store=str(tmp_path)).open_limits
    assert (filed.banks, filed.megabytes) == (7, 8)
    given = load_settings({"RECOLLECT_OPEN_BANKS": "9"}, store=str(tmp_path)).open_limits
    assert (given.banks, given.megabytes) == (9, 8)
    for wrong in ({"RECOLLECT_OPEN_BANKS": "many"}, {"RECOLLECT_OPEN_MEGABYTES": "0"}):
        with pytest.raises(InvalidInput):
            load_settings(wrong)
    (tmp_path / "recollect.toml").write_text('open_banks = "7"\n', "utf-8")
    with pytest.raises(InvalidInput, match="whole number"):
        load_settings({}, store=str(tmp_path))
