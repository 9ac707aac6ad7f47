"""Tables on disk as streams of rows: CSV, ARFF, Parquet and NPZ, read in chunks."""

from mist.io.encode import Chunk
from mist.io.source import TableError
from mist.io.table import Table, load_csv, open_table

__all__ = ["Chunk", "Table", "TableError", "load_csv", "open_table"]
