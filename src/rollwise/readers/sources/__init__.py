"""Contents of a path: files, archives, compressed bytes, Parquet, SQLite and object stores."""
