"""What is written down of a file holds no key and no password, wherever and however they stand in it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from rollwise.evaluation.masking import as_yaml, masked
from rollwise.files.masking import for_message, without_secrets

SECRET = "hunter2-hunter2"


def loaded(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apiKey", "API-Key", "X-API-Key", "Ocp-Apim-Subscription-Key", "aws_secret_access_key", "private_key",
        "access_token", "x-auth-token", "client_secret", "password", "db_passwd", "Authorization", "Cookie", "credentials",
        "pass", "auth", "X-Auth", "api_keys", "x-functions-key", "X-Goog-Key", "httpHeaders", "sig", "signature", "dsn",
        "connection_string", "set-cookie",
    ],
)  # fmt: skip
def test_names_that_tell_of_a_secret(name) -> None:
    """In any case and spelling, and whatever stands under them."""
    for value in (SECRET, [SECRET], {"inner": [SECRET]}):
        assert SECRET not in json.dumps(without_secrets({"deep": [{name: value}]}))
    assert without_secrets({name: "${FROM_ENVIRONMENT}"}) == {name: "${FROM_ENVIRONMENT}"}


@pytest.mark.parametrize(
    "name", ["id_key", "question_key", "answer_key", "max_tokens", "bypass", "author", "pass_full_entry", "model_name"]
)
def test_names_that_do_not(name) -> None:
    """An option that is masked could not be told from another value of it."""
    assert without_secrets({name: "text"}) == {name: "text"}
    assert without_secrets({name: 5, "dollars_per_token": 0.5}) == {name: 5, "dollars_per_token": 0.5}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"https://me:{SECRET}@host:8/v1", "https://***@host:8/v1"),
        (f"https://{SECRET}@host/v1", "https://***@host/v1"),
        (f"https://host/v1?a=1&key={SECRET}&b=2", "https://host/v1?a=1&key=***&b=2"),
        (f"https://host/v1?api_key={SECRET}#top", "https://host/v1?api_key=***#top"),
        (f"https://host/v1?access_token={SECRET}", "https://host/v1?access_token=***"),
        ("https://host/v1?q=a@b", "https://host/v1?q=a@b"),
        (f"https://host/v1?api-version=2024-02-01&sig={SECRET}", "https://host/v1?api-version=2024-02-01&sig=***"),
        (f"https://host/hook?{SECRET}", "https://host/hook?***"),
        (f"https://host/cb#access_token={SECRET}&x=1", "https://host/cb#access_token=***&x=1"),
        (f"https://me:p@ss@{SECRET}@host/v1", "https://***@host/v1"),
        (f"wss://host/v1?code={SECRET}; and https://u:{SECRET}@h", "wss://host/v1?code=***; and https://***@h"),
        (f"host:8000/v1?api_key={SECRET}", "host:8000/v1?api_key=***"),
        ("is it? x=1&y=a long one", "is it? x=1&y=a long one"),
        (f"curl -H 'Authorization: Bearer {SECRET}' x", "curl -H 'Authorization: ***' x"),
        (f"-H 'X-Team-Key: {SECRET}'", "-H 'X-Team-Key: ***'"),
        ("the bearer of news", "the bearer of news"),
        ("mail me@host", "mail me@host"),
    ],
)
def test_addresses(address, shown) -> None:
    """Keep what says where, and lose who asks."""
    assert without_secrets({"url": address}) == {"url": shown}


@pytest.mark.integration
@pytest.mark.parametrize(
    "piece", ["a", "x-", "1f", "a.", "?a=b", "://", "x://a?b ", "token", "&x", "bearer ", "x-key: "]
)
def test_a_long_text_takes_no_longer_than_its_length(piece) -> None:
    """200,000 characters of anything, as a prompt or an image in a file may be."""
    text = piece * (200_000 // len(piece))
    start = time.perf_counter()
    without_secrets({"prompt": text})
    for_message(text)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    "written",
    [
        "api_key: hunter2-hunter2", "api_key: 'hunter2-hunter2'", 'api_key: "hunter2\\x2dhunter2"',
        "api_key: >-\n  hunter2-hunter2\nnext: 1", "api_key: |\n  hunter2-hunter2\nnext: 1", "api_key: &k hunter2-hunter2",
        "{api_key: hunter2-hunter2, a: 1}", "api_key:\n- hunter2-hunter2\n- [hunter2-hunter2]", "? api_key\n: hunter2-hunter2",
        "a: &all {password: hunter2-hunter2}\nb: *all\nc: {<<: *all}", "url: http://u:hunter2-hunter2@h/",
        "x: 1\r\napi_key: hunter2-hunter2\r\ny: 2",

        "api_key: hunter2-hunter2  # hunter2-hunter2, of mine", "\ufeffapi_key: hunter2-hunter2",
        "headers: {X: hunter2-hunter2, Y: 5}",
        "password: 1234567890123", "'é': '𝄞'\napi_key: hunter2-hunter2",
    ],
)  # fmt: skip
def test_a_file_says_the_same_without_its_secrets(written) -> None:
    """Every spelling of YAML; the text is YAML still, and all else in it is as it was."""
    text = f"before: 'x'\n{written}\n" if not written.startswith(("{", "\ufeff")) else written
    shown = masked(text)
    assert "hunter2" not in shown
    assert "1234567890123" not in shown
    assert loaded(shown) == without_secrets(loaded(text))


NAMES = st.sampled_from(["api_key", "token", "headers", "url", "a", "id_key", "password", "seconds_per_token"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=12)
LEAVES = TEXTS | TEXTS.map("http://me:{}@host".format) | st.integers() | st.booleans() | st.none() | st.just("${HOME}")
FILES = st.dictionaries(
    NAMES, st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
)


@pytest.mark.integration
@given(FILES, st.booleans())
def test_the_text_and_the_entries_hide_the_same(entries, flow) -> None:
    """Whatever a file holds: its text, masked, is the text of its masked entries."""
    text = json.dumps(entries, ensure_ascii=False) if flow else as_yaml(entries)
    assert loaded(masked(text)) == without_secrets(loaded(text))
    assert masked(masked(text)) == masked(text)
