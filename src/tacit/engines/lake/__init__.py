"""A lake of immutable Parquet files: in a folder, or in an object store."""
