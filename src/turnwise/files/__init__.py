"""Files: written whole or not at all, on disk or in an object store, and read back as data, settings or Python objects.

Open `atomic.py` first (write to a temporary name, then rename). `writers.py` is `tw.write`, `manifests.py` says what
a folder of Parquet files must hold, `configuration.py` checks YAML, `json_paths.py` and `objects.py` look up `$.a.b`
and `package.module:name`.
"""
