"""Names -> words, units and number formats for people.

What is written here goes alike into figures, tables and the report.
"""

from turnwise.schema.labels.alternatives import alt_text
from turnwise.schema.labels.captions import caption, cluster_heading, cluster_noun, cluster_unit, paths_told
from turnwise.schema.labels.frames import as_frame, choose, finished, shape_of
from turnwise.schema.labels.groups import (
    ALL,
    NONE,
    compared,
    group_name,
    group_names,
    grouping,
    own_order,
    unpooled,
    value_name,
)
from turnwise.schema.labels.numbers import (
    NOTHING,
    bracket,
    count,
    counted,
    difference_text,
    interval_text,
    level_text,
    number,
    p_text,
    share_text,
    span,
    superscript,
)
from turnwise.schema.labels.text import plain, plain_lines, say, sentence, shorten, shorten_all
from turnwise.schema.labels.words import (
    coefficient,
    contrast_quantity,
    contrast_scale,
    curve_quantity,
    is_rate,
    is_share,
    label,
    quantity,
    unit,
)

__all__ = [
    "ALL",
    "NONE",
    "NOTHING",
    "alt_text",
    "as_frame",
    "bracket",
    "caption",
    "choose",
    "cluster_heading",
    "cluster_noun",
    "cluster_unit",
    "coefficient",
    "compared",
    "contrast_quantity",
    "contrast_scale",
    "count",
    "counted",
    "curve_quantity",
    "difference_text",
    "finished",
    "group_name",
    "group_names",
    "grouping",
    "interval_text",
    "is_rate",
    "is_share",
    "label",
    "level_text",
    "number",
    "own_order",
    "p_text",
    "paths_told",
    "plain",
    "plain_lines",
    "quantity",
    "say",
    "sentence",
    "shape_of",
    "share_text",
    "shorten",
    "shorten_all",
    "span",
    "superscript",
    "unit",
    "unpooled",
    "value_name",
]
