"""No part of a key is shown or stored, however a server writes it, wherever it is cut."""

import base64
import html
import json
import traceback
from datetime import UTC, datetime
from urllib.parse import quote

import httpx
import pytest

from recollect import Memory, Message
from recollect.app.settings import ModelSpec, Settings
from recollect.errors import InvalidInput, ModelUnavailable, RecollectError
from recollect.models._http import Endpoint
from recollect.models.embedders.endpoint import EndpointEmbedder
from recollect.models.keys import hide_credentials, list_url_keys, mask_keys
from recollect.models.language import ModelRole
from recollect.models.languages._errors import make_unavailable
from recollect.models.languages.model_names import parse_model_name
from recollect.models.languages.pydantic_ai import PydanticModel
from recollect.models.rerankers.endpoint import EndpointReranker
from recollect.testing.models import HashEmbedder
from recollect.worker import WorkerSettings

KEY = "sk-Qz7wVx3NpLr-0192837465/Tb5+Hd8"
AT = datetime(2024, 5, 1, tzinfo=UTC)
FORMS = {
    "plain": KEY,
    "header": f"Authorization: Bearer {KEY}",
    "lower": KEY.lower(),
    "upper": KEY.upper(),
    "percent": quote(KEY, safe=""),
    "percent hyphen": KEY.replace("-", "%2D"),
    "percent all": "".join(f"%{ord(char):02x}" for char in KEY),
    "percent twice": quote(quote(KEY.replace("-", "%2d"), safe=""), safe=""),
    "json": json.dumps(KEY).replace("/", "\\/"),
    "json all": "".join(f"\\u{ord(char):04X}" for char in KEY),
    "json in json": json.dumps(json.dumps({"key": KEY.replace("-", "\\u002d")})),
    "html": html.escape(KEY).replace("-", "&#45;").replace("/", "&#x2F;"),
    "repr": repr(KEY.encode()),
    "hex": "".join(f"\\x{ord(char):02x}" for char in KEY),
    "base64": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "begin": KEY[:20],
    "end": KEY[9:],
    "middle": KEY[5:18],
    "starred": f"{KEY[:5]}****{KEY[-4:]}",
    "dotted": f"{KEY[:4]}...{KEY[-3:]}",
}


def longest_part(text, least=3):
    """The longest part of the key that a text shows."""
    parts = (KEY[n : n + size] for size in range(len(KEY), least - 1, -1) for n in range(len(KEY) - size + 1))
    return next((part for part in parts if part.casefold() in text.casefold()), "")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["{}", "the key {} is wrong", "xx{}", '{{"message": "bad {}"}}'])
def test_a_key_is_masked_in_every_form(form, around):
    masked = mask_keys(around.format(FORMS[form]), [KEY])
    assert "[key]" in masked
    assert longest_part(masked) == ""
    assert base64.b64encode(KEY.encode()).decode()[4:-4] not in masked


@pytest.mark.parametrize("text", ["", "no key at all", "100% of \\u0041 &amp; x", "again: %zz \\ & %", "ask", "\\u00"])
def test_other_texts_stay_as_they_are(text):
    assert mask_keys(text, [KEY, ""]) == text
    assert mask_keys(text, []) == text


@pytest.mark.parametrize("room", range(0, 330, 3))
def test_a_key_at_the_cut_of_a_long_answer(room):
    answer = "x" * room + f" {KEY} and more " * 30
    endpoint = Endpoint(url="https://h.example/v1", api_key=KEY)
    for told in (
        str(endpoint.failure(answer)),
        str(make_unavailable("m", RuntimeError(answer), [KEY])),
    ):
        assert longest_part(told) == ""


def server_quoting(pad):
    return httpx.MockTransport(lambda request: httpx.Response(401, text="x" * pad + request.headers["authorization"]))


@pytest.mark.parametrize("pad", [0, 240, 262, 275, 285, 290, 297, 300, 1190, 1200, 5000])
@pytest.mark.parametrize("kind", [EndpointEmbedder, EndpointReranker])
async def test_an_endpoint_that_quotes_its_header(kind, pad):
    adapter = kind("m", "https://h.example/v1", KEY, retries=0, transport=server_quoting(pad))
    with pytest.raises(ModelUnavailable) as caught:
        await (adapter.connect() if kind is EndpointEmbedder else adapter.score("q", ["p"]))
    told = "".join(traceback.format_exception(caught.value)) + repr(adapter)
    assert longest_part(told) == ""


async def test_keys_in_addresses_are_not_shown():
    url = f"https://me:{KEY.replace('/', '_')}@h.example/v1?api-key={quote(KEY, safe='')}"

    def answer(request):
        raise httpx.ConnectError(f"cannot connect to {request.url}")

    endpoint = Endpoint(url=url, retries=0, transport=httpx.MockTransport(answer))
    with pytest.raises(ModelUnavailable) as caught:
        await endpoint.post_all([{}])
    model = PydanticModel("openai:m", base_url=url)
    spec = ModelSpec(name=f"openai:m@{url}", base_url=url, api_key=KEY)
    settings = Settings(embedder=f"endpoint:m@{url}", base_url=url, model_key=KEY, models={ModelRole.ANSWER: spec})
    told = [*traceback.format_exception(caught.value), repr(endpoint), repr(model), repr(spec), repr(settings)]
    for wrong in (lambda: Endpoint(url=f"ftp{url}"), lambda: PydanticModel("openai:m", base_url=f"ftp{url}")):
        with pytest.raises(InvalidInput) as refused:
            wrong()
        told.append(str(refused.value))
    with pytest.raises(InvalidInput) as refused:
        parse_model_name(f"Model {url}")
    told.append(str(refused.value))
    assert longest_part("".join(told), least=5) == ""
    assert "https://h.example/v1" in told[0] + str(caught.value)


def test_what_is_a_key_in_an_address():
    assert list_url_keys("https://me:pa%40ss@h/v1?key=abcdefgh&n=1") == ("pa@ss", "abcdefgh")
    assert list_url_keys("https://token123@h/v1") == ("token123",)
    assert list_url_keys("http://[bad") == list_url_keys(None) == list_url_keys("https://h/v1") == ()
    assert hide_credentials("at https://me:p@h/v1?key=a and 'http://x?b'") == "at https://h/v1 and 'http://x'"


async def test_a_key_is_in_no_error_job_log_export_or_file(tmp_path, model_server, caplog):
    caplog.set_level("DEBUG", "recollect")
    model = PydanticModel("openai:m", base_url=model_server, api_key=KEY, settings=once())
    async with Memory.open(
        tmp_path, embedder=HashEmbedder(), recipe="hindsight", model=model, worker=WorkerSettings(automatic=False)
    ) as memory:
        bank = await memory.bank("b")
        told = list((await bank.retain(Message(text="I met Toby", at=AT), wait=True)).notes)
        with pytest.raises(RecollectError) as caught:
            await bank.ask("Who?")
        told += traceback.format_exception(caught.value)
        told += [str(job) for job in await bank.jobs()] + [str(cost) for cost in await bank.costs()]
        told += [line async for line in bank.export()]
    told += [file.read_bytes().decode("latin-1") for file in tmp_path.iterdir()] + [caplog.text]
    assert "[key]" in "".join(told)
    assert [part for part in map(longest_part, told) if len(part) > 3] == []


def once():
    from recollect.models.languages.settings import CallSettings

    return CallSettings(timeout=5.0, retries=0)


@pytest.fixture
def model_server():
    """A chat server that answers 401, with the key across the 300th character."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            key = self.headers["authorization"].split()[-1]
            body = json.dumps({"error": {"message": "x" * 280 + key + " " + quote(key, safe="")}}).encode()
            self.send_response(401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join()
