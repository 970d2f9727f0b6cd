"""Make the evidence, and write the page: `cd tests && python -m evidence [--repetitions 1000] [PART...]`.

Parts are coverage, certified, references, real_data and stated; all by default. Results are stored in `evidence/results`, and the
page `docs/pages/evidence.md` is written from what is stored. Coverage takes about ten minutes of one core; where one estimator
changed, `--family mean coverage` replaces the rows of its settings alone. Draws depend on nothing but the setting.
"""

import argparse

import polars as pl

from . import certified, references
from .coverage import measured
from .page import PAGE, RESULTS, page, stored
from .times import every_setting

PARTS = ("coverage", "certified", "references", "real_data", "stated")


def _rows(part: str, repetitions: int, family: str | None) -> list[dict]:
    if part == "certified":
        return certified.rows()
    if part == "references":
        return references.rows()
    if part == "real_data":
        from . import real_data

        return real_data.rows(repetitions)
    if part == "stated":
        from . import stated

        return stated.rows()
    rows = []
    for setting in every_setting():
        if family is not None and setting.family != family:
            rows += stored("coverage").filter(family=setting.family, setting=setting.words).to_dicts()
            continue
        rows += measured(setting, repetitions)
        print(f"{setting.family}: {setting.words}: {rows[-1 - len(setting.others)]['coverage']}", flush=True)  # noqa: T201
    return rows


def main() -> None:
    """Make the named parts, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000, help="tables of each setting; 1,000 by default")
    families = sorted({setting.family for setting in every_setting()})
    parser.add_argument("--family", choices=families, help="of the coverage, measure this family alone; all by default")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}; available: {', '.join(PARTS)}")
    RESULTS.mkdir(exist_ok=True)
    for part in options.parts or PARTS:
        if rows := _rows(part, options.repetitions, options.family):
            pl.DataFrame(rows).write_csv(RESULTS / f"{part}.csv")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
