"""MIST in the clothes of other libraries: `mist.interop.river` and `mist.interop.capymoa`.

Each module needs its library, and loads it; this package loads neither.
"""
