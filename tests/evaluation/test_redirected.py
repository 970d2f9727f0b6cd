"""A workflow whose address redirects: each item says so, and nobody else is asked."""

from odd_server import serving


def test_an_evaluation_asks_nobody_else(bench, capsys) -> None:
    """The error of an item names the new address; the other server's answers are no answers."""
    bench.data([{"id": 1, "question": "A secret?", "answer": "yes"}])
    with serving() as moved, serving() as thief:
        thief.tell('"yes"')
        moved.tell("", 308, Location=f"http://localhost:{thief.port}/ask?key=NEWSECRET")
        workflow = {
            "_type": "endpoint",
            "url": f"{moved.url}/ask",
            "headers": {"X-Key": "HEADERSECRET"},
            "max_retries": 0,
        }
        bench.config({"same": {"_type": "similarity"}}, workflow=workflow)
        result = bench.run()
        assert thief.requests == []
    told = capsys.readouterr().err
    assert f"HTTP 308: it redirects to http://localhost:{thief.port}/ask, which is not followed" in told
    assert "NEWSECRET" not in told
    assert result.items["same"].to_list() == [None]
