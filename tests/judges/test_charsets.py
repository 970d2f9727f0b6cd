"""What a server says about the encoding of its answers: JSON is read as JSON, and anything else is one sentence."""

import asyncio
import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip("openai", reason="openai is not installed (extra judge)")

from odd_server import OddServer, completion, serving

import rollwise as rw
from rollwise.evaluation.posting import RefusedError, posted
from rollwise.judges.clients import CallError

ODD = [
    "hex",
    "idna",
    "punycode",
    "utf-16",
    "utf-32",
    "undefined",
    "zlib",
    "rot13",
    "base64",
    "uu",
    "no-such",
    "ascii",
    "utf-7",
    "'",
    "",
]
ASK = [{"role": "user", "content": "?"}]


@pytest.fixture(scope="module")
def server() -> Iterator[OddServer]:
    """A server."""
    with serving() as told:
        yield told


def said(server: OddServer, max_retries: int = 0) -> str:
    """The answer, or the error."""
    model = rw.judges.Endpoint("m", base_url=server.url, api_key="sk-APIKEYSECRET", timeout=20, max_retries=max_retries)
    try:
        return asyncio.run(model.complete(ASK)).text
    except CallError as error:
        return str(error)


@pytest.mark.integration
@pytest.mark.parametrize("charset", ODD)
def test_an_answer_in_utf_8_is_read_whatever_its_header_says(charset: str, server: OddServer) -> None:
    """By judges and workflows."""
    server.tell(completion("Grüße 世界"), kind=f"application/json; charset={charset}")
    assert said(server) == "Grüße 世界"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_an_answer_in_another_encoding_is_read(encoding: str, server: OddServer) -> None:
    """With a mark of the byte order, without one, and in the encoding of the header."""
    server.tell(completion("Grüße").encode(encoding), kind=f"application/json; charset={encoding}")
    assert said(server) == "Grüße"


@pytest.mark.integration
@pytest.mark.parametrize("charset", ODD)
def test_a_refusal_is_one_sentence(charset: str, server: OddServer) -> None:
    """Of a status that is not asked again, and of one that is."""
    body = json.dumps({"error": {"message": "no, sk-APIKEYSECRET"}})
    server.tell(body, 400, f"application/json; charset={charset}")
    assert said(server, 1).startswith(f"m at {server.url}: 400, asked once: ")
    server.tell(body, 503, f"application/json; charset={charset}", retry_after_ms="1")
    assert said(server, 1).startswith(f"m at {server.url}: 503, asked 2 times: ")
    assert "APIKEYSECRET" not in said(server)


@pytest.mark.thinned(48)
@pytest.mark.parametrize("charset", ODD)
def test_what_is_no_json_is_one_sentence_and_asked_again(charset: str, server: OddServer) -> None:
    """As without an encoding."""
    server.tell(b"\xff\xfe\x00sorry", kind=f"text/html; charset={charset}")
    assert said(server, 1).startswith(
        f"m at {server.url}: no usable answer, asked 2 times: it is not a chat completion: "
    )
    assert len(server.requests) == 2


@pytest.mark.thinned(2)
@pytest.mark.parametrize("charset", ODD)
def test_a_workflow_may_say_so_too(charset: str, server: OddServer) -> None:
    """Text in UTF-8 or in its encoding, and a refusal with its status."""
    options = SimpleNamespace(url=server.url, timeout=20.0, max_retries=0, headers={})
    server.tell("\ufeff" + '{"a": 1}', kind=f"application/json; charset={charset if charset[:3] != 'utf' else 'hex'}")
    if charset not in {"ascii", "rot13"}:
        assert asyncio.run(posted(options, {})) == {"a": 1}
    server.tell("no", 400, f"text/plain; charset={charset}")
    with pytest.raises(RefusedError, match="HTTP 400: "):
        asyncio.run(posted(options, {}))
