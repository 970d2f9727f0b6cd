"""One browser for all tests of the report."""

from collections.abc import Iterator

import pytest
from reports.browser import Browser, browsing  # type: ignore[import-not-found]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, driven."""
    with browsing(tmp_path_factory.mktemp("profile")) as window:
        yield window
