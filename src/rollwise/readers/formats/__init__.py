"""One file per producer: `SHAPES` recognizes its files, and a mapping, or `read_<name>(document, table)`, reads one.

Each file begins with the tool, the file it writes, a link to its format, the files on which the reader was checked, and
what is lost. The steps that many readers share are in `common.py`. `exchange/` has
the formats in which evaluations, transcripts and traces pass between tools, `committed/` result files of benchmarks. The list of
readers is in `readers/registry.py`.
"""
