"""Shared fixtures: real logs of other tools, where they are at hand, and how often is as often."""

import gc
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# No deadline: a busy machine is not a failure. CI tries the same examples every time; elsewhere Hypothesis explores.
# `--hypothesis-profile=thorough` tries four times as many.
settings.register_profile("fast", deadline=None, max_examples=25, derandomize=bool(os.environ.get("CI")))
settings.register_profile("thorough", deadline=None)
settings.load_profile("fast")

SECRETS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "aws_region": "us-east-1"}
SHARED = Path(os.environ.get("ROLLWISE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_configure(config: pytest.Config) -> None:
    """Let Polars, which is not imported yet, use one thread in the fast lane: for small tables several cost a tenth of the time."""
    if "not integration" in config.option.markexpr:
        os.environ.setdefault("POLARS_MAX_THREADS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in the package alone: in tests it takes seconds, and importing plug-ins of tests has effects."""
    collectors = yield
    return [collector for collector in collectors if type(collector).__name__ != "DoctestModule"]


def pytest_collection() -> None:
    """Leave garbage alone while tests are collected: there is little of it among so many objects that stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Never search the collected tests for garbage; with the hook before it, this saves half a minute."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the integration lane what `thinned` tests have beyond their share of the fast one."""
    cases = Counter[tuple[pytest.Collector | None, str]]()
    for item in items:
        mark = item.get_closest_marker("thinned")
        if mark and isinstance(item, pytest.Function):
            test = (item.parent, item.originalname)
            if _place(item, cases[test]) % mark.args[0]:
                item.add_marker(pytest.mark.integration)
            cases[test] += 1


def _place(case: pytest.Function, number: int) -> int:
    """Return the sum of the places that a case of this number has in its lists, so that few sums have every value of every list."""
    places = 0
    for mark in reversed([*case.iter_markers("parametrize")]):  # the last list goes round fastest
        number, place = divmod(number, len(mark.args[1]))
        places += place
    return places


@pytest.fixture
def record_property(record_property: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    """As pytest has it, with NumPy's numbers as Python's: a worker of xdist dies of one that it cannot send home."""

    def record(name: str, value: Any) -> None:
        record_property(name, json.loads(json.dumps(value, default=lambda one: one.tolist())))

    return record


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[None]:
    """The test runs without root's rights, so that permissions mean something."""
    if os.geteuid() != 0:
        yield
        return
    import rollwise.estimation.summary  # noqa: F401  # what they import may lie where only root may read

    tmp_path.chmod(0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs written by other tools; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder of real logs at {SHARED}; set ROLLWISE_SHARED_DATA to one")
    return SHARED


@pytest.fixture
def own_metrics() -> Iterator[None]:
    """The metrics that the test defines are forgotten after it."""
    from rollwise.metrics.metric import ABOUT, FORMS

    about, forms = dict(ABOUT), list(FORMS)
    yield
    ABOUT.clear()
    ABOUT.update(about)
    FORMS[:] = forms


@pytest.fixture(scope="session")
def covers_as_often_as() -> Callable[..., bool]:
    """Whether hits in so many repetitions are this coverage within three Monte Carlo errors, to either side.

    The coverage itself may have been found in a number of repetitions, whose error counts too.
    """

    def check(hits: int, repetitions: float, coverage: float, found_in: float = math.inf) -> bool:
        error = math.sqrt(coverage * (1 - coverage) * (1 / repetitions + 1 / found_in))
        return abs(hits / repetitions - coverage) <= 3 * error

    return check


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server of S3, a process of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with socket.socket() as door:
                    if door.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert process.poll() is None, "the server ended"
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture
def store(s3_server: str, request: pytest.FixtureRequest) -> tuple[str, dict[str, str], Callable[[], dict[str, int]]]:
    """A bucket of the test's own, what it needs to be reached, and what lies in it: the bytes of each object."""
    import boto3

    names = {name.removeprefix("aws_"): value for name, value in SECRETS.items() if "region" not in name}
    client = boto3.client(
        "s3",
        endpoint_url=s3_server,
        region_name="us-east-1",
        **{"aws_" + name: value for name, value in names.items()},
    )
    bucket = f"b{abs(hash(request.node.nodeid)):x}"
    client.create_bucket(Bucket=bucket)

    def lying() -> dict[str, int]:
        return {entry["Key"]: entry["Size"] for entry in client.list_objects_v2(Bucket=bucket).get("Contents", ())}

    return f"s3://{bucket}/runs", {**SECRETS, "aws_endpoint_url": s3_server, "aws_allow_http": "true"}, lying
