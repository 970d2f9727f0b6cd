"""What a path leads to: files, archives, compressed bytes, Parquet, SQLite and object stores."""
