"""MIST with other libraries: `mist.interop.river`, `mist.interop.capymoa`, `mist.interop.dask`.

Each module needs its library, and loads it; this package loads none.
"""
