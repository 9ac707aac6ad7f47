"""Whether two models hold the same, down to the types and bytes of their arrays."""

import numpy as np


def assert_alike(one, other, where="model"):
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.dtype.type, one.shape) == (
            other.dtype,
            other.dtype.type,
            other.shape,
        )
        if one.dtype == object:
            assert_alike(one.tolist(), other.tolist(), where)
        else:
            assert one.tobytes() == other.tobytes(), where
        assert other.flags.writeable, where
        assert one.flags.f_contiguous == other.flags.f_contiguous, where
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_alike(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_alike(a, b, f"{where}[{i}]")
    elif isinstance(one, np.random.RandomState | np.random.Generator):
        assert str(one.__getstate__()) == str(other.__getstate__()), where
    elif hasattr(one, "__dict__"):
        assert_alike(one.__getstate__(), other.__getstate__(), f"{where}.{type(one).__name__}")
    else:
        assert one == other or one != one, where
