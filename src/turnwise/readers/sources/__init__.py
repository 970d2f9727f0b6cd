"""Sources of logs: files, archives, compressed bytes, Parquet, SQLite and object stores."""
