"""MIST together with other libraries, such as `mist.interop.dask`.

Each module needs its library, and loads it; this package loads none.
"""
