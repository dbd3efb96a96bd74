from dataclasses import dataclass

import pytest

from recollect.app import wire
from recollect.errors import MissingExtra
from recollect.models.language import ModelRole, Prompt


@dataclass(frozen=True)
class Named:
    name: str


def prompt(**more):
    return Prompt(role=ModelRole.EXTRACT, operation="x", subject="y", system="Be brief.", text="Who?", **more)


def test_a_model_reads_the_system_the_schema_and_what_is_asked():
    schema = '{"properties": {"name": {"type": "string"}}, "required": ["name"], "type": "object"}'
    system, told, asked = wire.render_request_texts(prompt(prefix="Ada adopted Toby. "), Named)
    assert (system, asked) == ("Be brief.", "Ada adopted Toby. Who?")
    assert told == schema
    assert wire.render_request_texts(prompt(), str) == ("Be brief.", "Who?")


def test_a_model_writes_json_or_plain_text():
    assert wire.render_reply_text(Named("Toby"), Named) == '{"name":"Toby"}'
    assert wire.render_reply_text("Toby", str) == "Toby"


def test_what_is_missing_is_named(monkeypatch):
    wire.require_schemas()
    monkeypatch.setattr(wire, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"recollect\[models\]"):
        wire.require_schemas()
