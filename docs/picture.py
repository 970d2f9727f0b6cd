"""Take the picture of a report that README and the site show: the first screen of the report of README's data, in Chromium.

    python docs/picture.py

It needs what the tests of reports need (chromium, its driver, selenium). The alternative text of the picture is the report's title,
which a test compares.
"""

import base64
import io
import runpy
import sys
import tempfile
from pathlib import Path

DOCS, ROOT = Path(__file__).parent, Path(__file__).parents[1]
PICTURE = DOCS / "pages" / "assets" / "report.png"
SIZE = (1180, 880)
COLORS = 160  # enough for letters and marks; the file is a third as large


def main() -> None:
    """Write the report, open it, and keep its first screen."""
    sys.path.insert(0, str(ROOT / "tests"))
    from PIL import Image
    from reports.browser import browsing

    with tempfile.TemporaryDirectory() as place, browsing(Path(place, "profile")) as browser:
        title = runpy.run_path(str(DOCS / "exhibits.py"))["report"](Path(place, "report"))
        browser.open(Path(place, "report", "report.html"), wait=False, width=SIZE[0], height=SIZE[1])
        browser.run(
            "document.documentElement.style.scrollbarWidth = 'none'; await new Promise(go => setTimeout(go, 1000))"
        )
        shot = Image.open(io.BytesIO(base64.b64decode(browser.cdp("Page.captureScreenshot")["data"])))
        shot.convert("RGB").quantize(COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            PICTURE, optimize=True
        )
    sys.stdout.write(f"{title}\n")


if __name__ == "__main__":
    main()
