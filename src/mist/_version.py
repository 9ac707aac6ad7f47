"""The version, in a file that imports nothing, so that all of the package can import it."""

__version__ = "0.1.0"
