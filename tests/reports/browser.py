"""Chromium without a window: what it fetched, what it complained of, how far it can be driven."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server",
)  # fmt: skip

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None or find_spec("selenium") is None,
    reason="no Chromium, no driver of it or no selenium here (apt-get install chromium chromium-driver; pip install selenium)",
)


class Browser:
    """One window."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(
        self, page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False, wait: bool = True
    ) -> None:
        """Load a page afresh in a window of that size, and wait until its viewer is there."""
        self.driver.get("about:blank")
        self.told()
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.cdp("Emulation.setEmulatedMedia", media="", features=scheme)
        self.driver.get(page if isinstance(page, str) else page.as_uri())
        if wait:
            self.until("return document.readyState === 'complete' && !document.getElementById('viewer').hidden")

    def cdp(self, command: str, **arguments: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns; what it awaits is waited for."""
        done = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"(async (...given) => {{ {script}\n }})(...arguments)"
            ".then(value => done({value}), error => done({error: String(error)}))",
            *arguments,
        )
        assert "error" not in done, done["error"]
        return done.get("value")

    def until(self, script: str) -> None:
        """Wait until a script returns true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60, poll_frequency=0.02).until(lambda driver: driver.execute_script(script))

    def press(self, *keys: str) -> None:
        """Keys, into whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def told(self) -> tuple[list[str], list[str]]:
        """Addresses asked for and errors or warnings since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        return asked, [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(120)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
