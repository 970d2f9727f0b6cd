"""An evaluation writes no secret into its results, its errors or its messages, wherever it was given."""

SECRET = "hunter2-hunter2"


def test_an_evaluation_writes_no_secret_anywhere(bench, items) -> None:
    """Of the file, of what overrides it, of an address that fails; an option that calls itself secret is one."""
    bench.data(items)
    bench.config(
        {"discreet": {"_type": "discreet", "word": SECRET}},
        llms={"a": {"_type": "openai", "model_name": "m", "options": {"extra_headers": {"X-API-Key": SECRET}}}},
        workflow={"_type": "endpoint", "url": f"http://localhost:9/?key={SECRET}", "max_retries": 0,
                  "headers": {"X-Team": SECRET}},
    )  # fmt: skip
    override = [("llms.b", f"{{_type: openai, model_name: m, api_key: {SECRET}}}"), ("workflow.headers.X-More", SECRET)]
    made = bench.run(override=override)
    assert made.items["error"].null_count() == 0
    for path in bench.out.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    assert bench.read("config_metadata.json")["overrides"][0]["value"]["api_key"] == "***"
