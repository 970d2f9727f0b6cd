"""What the build adds to the metadata of the package: its description and its addresses, from `docs/address.py`."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):  # type: ignore[misc]  # hatchling is there during a build only
    """README as a package index shows it, whose links lead to the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add `readme` and `urls`."""
        root = Path(self.root)
        tools = runpy.run_path(str(root / "docs" / "address.py"))
        facts = tools["facts_of"](root)
        text = tools["absolute"]((root / "README.md").read_text(encoding="utf-8"), facts["address"], facts["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = tools["urls"](facts["address"], facts["version"])
