"""The kinds of leaf model, one in each file; `mist.engine.leafmodel` describes the interface."""
