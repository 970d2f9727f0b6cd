"""A redirect is never followed, by judges, targets or workflows: keys and questions stay with the address that was named."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

pytest.importorskip("openai", reason="openai is not installed (extra judge)")

from odd_server import OddServer, completion, serving

import rollwise as rw
from rollwise.evaluation.posting import RefusedError, posted
from rollwise.judges.clients import UnservedError

TURNS = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["a secret answer"], "prompt": ["p"]})
SECRETS = ("sk-APIKEYSECRET", "HEADERSECRET", "QUERYSECRET", "BODYSECRET")
OPTIONS = {
    "extra_headers": {"api-key": "HEADERSECRET"},
    "extra_query": {"token": "QUERYSECRET"},
    "extra_body": {"api_key": "BODYSECRET"},
}
CODES = (301, 302, 303, 307, 308)
PLACES = {
    "another port": ("http://127.0.0.1:{thief}/v1/chat", "http://127.0.0.1:{thief}/v1/chat"),
    "another host": ("http://localhost:{thief}/v1/chat", "http://localhost:{thief}/v1/chat"),
    "another scheme": ("https://127.0.0.1:{thief}/v1/chat", "https://127.0.0.1:{thief}/v1/chat"),
    "without a scheme": ("//localhost:{thief}/v1", "http://localhost:{thief}/v1"),
    "its own": ("/v2/chat", "http://127.0.0.1:{own}/v2/chat"),
    "relative": ("elsewhere", "http://127.0.0.1:{own}/v1/chat/elsewhere"),
    "with user, password and query": (
        "http://me:pw12345@localhost:{thief}/v1?key=NEWSECRET",
        "http://localhost:{thief}/v1",
    ),
    "with the key": ("http://localhost:{thief}/sk-APIKEYSECRET/%48EADERSECRET", "http://localhost:{thief}/***/***"),
}


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[OddServer, OddServer]]:
    """One that redirects, and one that would answer with a verdict."""
    with serving() as moved, serving() as thief:
        yield moved, thief


def model(server: OddServer, **options: Any) -> rw.judges.Endpoint:
    """The model behind a server."""
    return rw.judges.Endpoint("m", base_url=server.url, api_key="sk-APIKEYSECRET", timeout=20, **options)


@pytest.mark.thinned(64)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("code", CODES)
def test_a_judge_asks_nobody_else(code: int, place: str, servers: tuple[OddServer, OddServer]) -> None:
    """The error names the new address without secrets; the other server sees nothing, and its score is no verdict."""
    moved, thief = servers
    location, named = (text.format(thief=thief.port, own=moved.port) for text in PLACES[place])
    thief.tell(completion('{"score": 3}'))
    moved.tell(completion('{"score": 3}'), code, Location=location)
    judge = rw.judges.Harmfulness(model(moved, options=OPTIONS), unsigned="accept")
    verdict = rw.judge(TURNS, judge, progress=False).row(0, named=True)
    assert verdict["value"] is None
    assert f"m at {moved.url}: {code}, asked once: it redirects to {named}, which is not followed" in verdict["error"]
    assert "give that address if it is right" in verdict["error"]
    assert not [secret for secret in (*SECRETS, "NEWSECRET", "pw12345") if secret in verdict["error"]]
    assert (len(moved.requests), thief.requests) == (1, [])


@pytest.mark.parametrize("code", CODES)
def test_a_workflow_asks_nobody_else(code: int, servers: tuple[OddServer, OddServer]) -> None:
    """As a judge."""
    moved, thief = servers
    thief.tell('"stolen"')
    moved.tell("", code, Location=f"http://me:pw12345@localhost:{thief.port}/{'x' * 100}/HEADERSECRET?key=NEWSECRET")
    options = SimpleNamespace(url=moved.url, timeout=20.0, max_retries=2, headers={"X-Key": "HEADERSECRET"})
    with pytest.raises(RefusedError) as caught:
        asyncio.run(posted(options, {"question": "?"}))
    address = f"http://localhost:{thief.port}/{'x' * 100}/***"
    assert str(caught.value) == (
        f"HTTP {code}: it redirects to {address}, which is not followed, as keys and questions would go there; "
        "give that address if it is right"
    )
    assert (len(moved.requests), thief.requests) == (1, [])


def test_a_stream_is_not_followed_either(servers: tuple[OddServer, OddServer]) -> None:
    """Nor one whose body says that it is an answer."""
    moved, thief = servers
    moved.tell('data: {"value": "yes"}\n\n', 307, "text/event-stream", Location=thief.url)
    options = SimpleNamespace(url=moved.url, timeout=20.0, max_retries=0, headers={})
    with pytest.raises(RefusedError, match="HTTP 307: it redirects to "):
        asyncio.run(posted(options, {"question": "?"}))


@pytest.mark.integration
@pytest.mark.parametrize("headers", [{"Refresh": "0; url={}"}, {"Location": "{}"}, {"Link": "<{}>; rel=canonical"}, {}])
def test_a_page_that_moves_a_browser_moves_nobody(
    headers: dict[str, str], servers: tuple[OddServer, OddServer]
) -> None:
    """A header or a meta element of an answer with status 200."""
    moved, thief = servers
    thief.tell(completion("stolen"))
    page = f'<meta http-equiv="refresh" content="0; url={thief.url}">'
    moved.tell(page, 200, "text/html", **{name: value.format(thief.url) for name, value in headers.items()})
    with pytest.raises(rw.errors.RollwiseError, match="it is not a chat completion: '<meta"):
        asyncio.run(model(moved, max_retries=0).complete([{"role": "user", "content": "?"}]))
    assert thief.requests == []


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "location", ["http://[", "", "http://localhost:99999999/", "javascript:alert(1)", "\xe4" * 3000]
)
def test_a_redirect_to_nowhere_is_one_sentence(location: str, servers: tuple[OddServer, OddServer]) -> None:
    """And at most of 400 characters or so."""
    moved, _ = servers
    moved.tell("", 302, Location=location)
    with pytest.raises(UnservedError, match="302, asked once: ") as caught:
        asyncio.run(model(moved, max_retries=0).complete([{"role": "user", "content": "?"}]))
    assert "it redirects to" in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.integration
def test_a_redirect_is_no_reason_to_ask_again(servers: tuple[OddServer, OddServer]) -> None:
    """Unless the server says so, and then it is asked again itself; a check before an evaluation says that it is not served."""
    moved, thief = servers
    moved.tell("", 307, Location=thief.url)
    with pytest.raises(UnservedError, match="307, asked once: it redirects to"):
        asyncio.run(model(moved).check())
    moved.tell("", 307, Location=thief.url, x_should_retry="true", retry_after_ms="1")
    thief.tell(completion("stolen"))
    with pytest.raises(UnservedError, match="307, asked 2 times: it redirects to"):
        asyncio.run(model(moved, max_retries=1).complete([{"role": "user", "content": "?"}]))
    assert thief.requests == []
