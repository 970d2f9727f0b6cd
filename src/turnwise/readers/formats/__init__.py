"""One file per producer: `sniff(document)` recognizes its files and `read_<name>(document, table)` reads one.

The list of them is in `readers/registry.py`.
"""
