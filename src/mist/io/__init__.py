"""Reading of tables in chunks, from files, folders, pipes and Kafka topics."""

from mist.io.encode import Chunk
from mist.io.livetable import LiveTable, is_live, open_live
from mist.io.paths import find_files
from mist.io.source import TableError
from mist.io.table import Table, load_csv, open_table

__all__ = [
    "Chunk",
    "LiveTable",
    "Table",
    "TableError",
    "find_files",
    "is_live",
    "load_csv",
    "open_live",
    "open_table",
]
