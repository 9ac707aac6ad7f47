"""MIST with other libraries: `mist.interop.river`, `mist.interop.capymoa`, `mist.interop.dask`.

Each module needs and imports its library; this package imports none.
"""
