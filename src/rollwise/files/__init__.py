"""Files: written whole or not at all, on disk or in an object store, and read back as data, settings or Python objects.

Open `atomic.py` first (write to a temporary name, then rename). `writers.py` is `rw.write`, `manifests.py` checks a folder
of Parquet files against the record of its files, `configuration.py` checks YAML, and `references.py` resolves `$.a.b` and
`package.module:name`.
"""
