"""Where the repository is, by the one line of `pyproject.toml` that says so, and all that follows from it.

`[tool.rollwise] repository` is empty as long as the repository is nowhere to be found. What follows from it: the addresses on the
page of a package index and the links of its description (`hatch_build.py`), those of the documentation site (`generate.py`), and
`CITATION.cff`.
"""

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# A link or a picture of Markdown to a file of the repository: neither an address nor a place on the same page.
RELATIVE = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<place>(?![a-z][a-z+.-]*:|#|/)[^)\s]+)\)")


def facts_of(root: Path) -> dict[str, Any]:
    """Return name, version and the address of the repository, from `pyproject.toml`."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    address = settings["tool"]["rollwise"]["repository"].rstrip("/")
    return {name: settings["project"][name] for name in ("name", "version")} | {"address": address}


def urls(address: str, version: str) -> dict[str, str]:
    """Return the addresses on the page of a package index; none without one of the repository."""
    if not address:
        return {}
    pages = {"Documentation": site} if (site := site_of(address)) else {}
    changes = f"{address}/blob/v{version}/CHANGELOG.md"
    return {"Homepage": address, **pages, "Changelog": changes, "Issues": f"{address}/issues"}


def site_of(address: str) -> str | None:
    """Return where GitHub and GitLab serve the site of a repository; None of any other host.

    >>> site_of("https://github.com/someone/rollwise")
    'https://someone.github.io/rollwise/'
    """
    place = urlsplit(address)
    owner, _, name = place.path.strip("/").partition("/")
    pages = {"github.com": "github.io", "gitlab.com": "gitlab.io"}.get(place.hostname or "")
    return f"https://{owner}.{pages}/{name}/" if pages else None


def absolute(text: str, address: str, version: str) -> str:
    """Return Markdown whose links and pictures lead to this version of the repository from anywhere.

    >>> absolute("[a](docs/a.md#b), ![c](c.svg), [d](https://d.org), [e](#e)", "https://h.org/o/n", "1.0")
    '[a](https://h.org/o/n/blob/v1.0/docs/a.md#b), ![c](https://h.org/o/n/raw/v1.0/c.svg), [d](https://d.org), [e](#e)'
    """
    if not address:
        return text

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({address}/{kind}/v{version}/{found['place']})"

    # Every second part is a block of code.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if number % 2 else RELATIVE.sub(link, part) for number, part in enumerate(parts))


def citation(root: Path) -> str:
    """Return `CITATION.cff`: the version, and the date of its release in the changelog and the address, where there are any."""
    facts = facts_of(root)
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    date = re.search(rf"^## {re.escape(facts['version'])} \((\d{{4}}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    lines = [
        "cff-version: 1.2.0",
        f"message: If you use {facts['name']} in your work, please cite it.",
        f'title: "{facts["name"]}: analysis of LLM red-team and evaluation rollouts"',
        "type: software",
        "authors:",
        f"  - name: The {facts['name']} authors",
        f"version: {facts['version']}",
        *([f"date-released: {date[1]}"] if date else []),
        *([f"repository-code: {facts['address']}"] if facts["address"] else []),
        "license: MIT",
    ]
    return "\n".join(lines) + "\n"


def site_settings(text: str, address: str) -> str:
    """Return the settings of the site, with its own address and that of the repository after the name."""
    lines = [f'repo_url = "{address}"'] if address else []
    lines += [f'site_url = "{site}"'] if address and (site := site_of(address)) else []
    head, name, rest = text.partition('site_name = "rollwise"\n')
    return head + name + "".join(f"{line}\n" for line in lines) + rest
