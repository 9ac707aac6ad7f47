import math
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from alike import assert_alike
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes
from sklearn.base import BaseEstimator

from mist.persistence import register
from mist.persistence.class_paths import CLASS_PATHS, class_of, name_of
from mist.persistence.codec import Decoder, Encoder, Unreadable

PLAIN_DTYPES = scalar_dtypes().filter(
    lambda t: t.kind in "biufU" and t.isnative and not (t.kind == "f" and t.itemsize > 8)
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.text()
    | st.floats(width=32).map(np.float32)
    | st.integers(0, 255).map(np.uint8)
    | st.booleans().map(np.bool_)
    | st.text(max_size=4).filter(lambda t: not t.endswith("\0")).map(np.str_)
)
KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS | arrays(PLAIN_DTYPES, array_shapes(min_dims=0, min_side=0, max_side=4)),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.lists(parts, max_size=4).map(tuple)
        | st.dictionaries(KEYS, parts, max_size=4)
    ),
    max_leaves=12,
)


def through(value):
    encoder = Encoder()
    encoded = encoder.encode(value)
    decoder = Decoder([np.array(array) for array in encoder.arrays])
    decoded = decoder.decode(encoded)
    decoder.finish()
    return decoded


@settings(deadline=None, max_examples=50)
@given(VALUES)
def test_nested_values_come_back_as_they_were(value):
    assert_alike(value, through(value))


@pytest.mark.parametrize(
    "value",
    [{1, "a", (2, 3)}, frozenset({1.5}), range(3, 9, 2), -0.0, [[]], {}, ()],
    ids=lambda value: type(value).__name__,
)
def test_other_values_come_back(value):
    back = through(value)
    assert type(back) is type(value)
    assert back == value
    if not isinstance(value, set):  # whose order says nothing
        assert repr(back) == repr(value)


def test_arrays_of_objects_and_in_column_order_come_back():
    value = [np.array([["a", None], [2, 0.5]], dtype=object), np.asfortranarray(np.eye(3))]
    assert_alike(value, through(value))


def test_random_numbers_go_on_where_they_were():
    for made in (np.random.default_rng(3), np.random.RandomState(3)):
        made.normal(size=3)
        other = through(made)
        assert (made.normal(size=5) == other.normal(size=5)).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, object()]}, r"^value\['a'\]\[1\] is a object, which model files cannot hold"),
        (Counter("ab"), "value is a Counter"),
        ([np.array(["2020-01-01"], "M8[D]")], r"value\[0\] is a ndarray of datetime64"),
        (np.ma.masked_array([1.0]), "value is a MaskedArray"),
        (np.longdouble(1), "is a longdouble of float128|is a float64|is a longdouble"),
        (b"bytes", "value is a bytes"),
        (1j, "value is a complex"),
        (len, "value is a builtin_function_or_method"),
        (np.random.Generator(np.random.SFC64(1)), "value is a Generator"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_files_cannot_hold_is_refused_with_its_place(value, message):
    if isinstance(value, np.longdouble) and value.dtype.itemsize == 8:
        pytest.skip("long doubles are doubles here")
    with pytest.raises(TypeError, match=message):
        Encoder().encode(value)


def test_a_value_that_holds_itself_is_refused():
    value = [1]
    value.append(value)
    with pytest.raises(ValueError, match="nested too deeply or contains itself"):
        Encoder().encode(value)


def test_arrays_that_share_memory_become_arrays_of_their_own():
    base = np.arange(6.0)
    one, other, view, rows = through([base, base, base[::2], base.reshape(2, 3)])
    one[0] = 99.0
    assert other[0] == view[0] == rows[0, 0] == 0.0
    assert not any(np.shares_memory(one, each) for each in (other, view, rows))


class Place(NamedTuple):
    row: int
    at: list


@dataclass
class Spot:
    x: float
    y: float = 0.5


class Plain:
    def __init__(self):
        self.seen = {"a": 1}

    def shout(self):
        raise AssertionError


class Nested(BaseEstimator):
    def __init__(self, model=None, size=3):
        self.model = model
        self.size = size


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr("mist.persistence.class_paths._REGISTERED", {})
    for cls in (Place, Spot, Plain, Nested):
        register(cls)


@pytest.mark.usefixtures("registered")
def test_classes_that_were_registered_come_back():
    model = Nested(Nested(size=4))
    model.memory_ = [Place(2, [Spot(math.inf)]), Plain()]
    back = through(model)
    assert_alike(model, back)
    assert back.get_params()["model__size"] == 4


@pytest.mark.usefixtures("registered")
def test_an_object_that_is_found_twice_is_refused():
    inner = Nested()
    with pytest.raises(TypeError, match=r"value\[1\] and value\[0\] are the same object"):
        Encoder().encode([inner, inner])


@pytest.mark.usefixtures("registered")
def test_absent_parameters_have_their_defaults_and_unknown_ones_are_refused():
    node = {"is": "Nested", "parameters": {"size": 8}, "of": {}}
    assert Decoder([]).decode(node).get_params() == {"model": None, "size": 8}
    node["parameters"]["height"] = 1
    with pytest.raises(Unreadable, match="'height' is not a parameter of Nested"):
        Decoder([]).decode(node)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", ["shout", "__class__", "__dict__", "a b"])
def test_no_attribute_may_stand_before_what_the_class_has(name):
    with pytest.raises(Unreadable, match="is not an attribute of Plain"):
        Decoder([]).decode({"is": "Plain", "of": {name: 1}})


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ([1], "has no type"),
        ({"is": "list"}, "has no type"),
        ({"is": "list", "of": [], "by": 1}, "unknown key 'by'"),
        ({"is": "Popen", "of": {"args": "true"}}, "'Popen' is an unknown type"),
        ({"is": "os.system", "of": {}}, "is an unknown type"),
        ({"is": "list", "of": {}}, "type list was expected"),
        ({"is": "float", "of": "1e9"}, "is not a number"),
        ({"is": "dict", "of": [[1]]}, "is not a pair"),
        ({"is": "dict", "of": [[1, 2], [1, 3]]}, "the same key twice"),
        ({"is": "array", "of": 1}, "array 1 does not exist"),
        ({"is": "array", "of": -1}, "array -1 does not exist"),
        ({"is": "array", "of": True}, "type int was expected"),
        ({"is": "records", "of": 0}, "the wrong kind"),
        ({"is": "list", "of": [{"is": "array", "of": 0}] * 2}, "array 0 does not exist or is used"),
        ({"is": "scalar", "of": ["O", 1]}, "the unsupported type 'O'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_nobody_wrote_are_refused(node, message):
    with pytest.raises(Unreadable, match=message):
        Decoder([np.zeros(1)]).decode(node)


def test_arrays_that_belong_to_nothing_are_refused():
    with pytest.raises(Unreadable, match="arrays that no value uses"):
        Decoder([np.zeros(1)]).finish()


def test_a_forged_random_state_is_refused():
    encoder = Encoder()
    node = encoder.encode(np.random.RandomState(1))
    text = str(node).replace("['pos', 624]", "['pos', 10**9]")
    assert "10**9" in text
    with pytest.raises(Unreadable, match="not between 0 and 624"):
        Decoder(encoder.arrays).decode(eval(text))  # what was encoded just now, with one change


def test_names_in_files_are_those_of_classes_that_are_there():
    assert len(set(CLASS_PATHS.values())) == len(CLASS_PATHS)
    for name in CLASS_PATHS:
        assert name_of(class_of(name)) == name
    assert class_of("Nothing") is None
    assert name_of(dict) is None


def test_names_in_files_are_taken_once(monkeypatch):
    monkeypatch.setattr("mist.persistence.class_paths._REGISTERED", {})
    for name in ("Tree", "place", "a b"):
        with pytest.raises(ValueError, match="name="):
            register(Place, name)
    register(Place, "Spot")
    with pytest.raises(ValueError, match="is the name of another class"):
        register(Spot)
    namesake = type("Place", (), {"__module__": "elsewhere", "__qualname__": Place.__qualname__})
    with pytest.raises(ValueError, match="is the name of another class"):
        register(namesake, "Spot")
    again = type("Place", (), {"__module__": __name__, "__qualname__": Place.__qualname__})
    assert name_of(register(again, "Spot")) == "Spot"
