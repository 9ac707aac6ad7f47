"""Prediction error-based classification: one small student network a class."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from mist.baselines.base import UnweightedStreamClassifier, add_multiple, dot, widened
from mist.engine.compiled import allocating, inlined
from mist.options import seed_of
from mist.rows import Array

_BLOCK = 16
_BETA1, _BETA2, _ADAM_EPS = 0.9, 0.999, 1e-8
_NORM_EPS = 1e-5


class PECState(NamedTuple):
    """The frozen teacher, and a student with its optimiser for each class.

    P counts the numbers of a student: hidden weights (h, d), hidden constants, gains and
    shifts of the normalisation (h each), output weights (h, m), output constants (m).
    """

    teacher_in: Array
    """Hidden weights of the teacher, shape (d, width)."""

    teacher_hidden: Array
    """Hidden constants of the teacher, shape (width,)."""

    teacher_out: Array
    """Output weights of the teacher, shape (width, m)."""

    teacher_offsets: Array
    """Output constants of the teacher, shape (m,)."""

    newborn: Array
    """The student every class starts from, shape (P,)."""

    students: Array
    """Student of each class, shape (K, P)."""

    first: Array
    """Adam's running mean of the gradient, shape (K, P)."""

    second: Array
    """Adam's running mean of the squared gradient, shape (K, P)."""

    steps: Array
    """Rows learnt by each student, int64, shape (K,)."""


@inlined
def _normalise(h: Array) -> float:
    """Shift and scale to mean 0 and variance 1, in place; returns the scale."""
    mean = 0.0
    for a in range(len(h)):
        mean += h[a]
    mean /= len(h)
    variance = 0.0
    for a in range(len(h)):
        h[a] -= mean
        variance += h[a] * h[a]
    scale = 1.0 / math.sqrt(variance / len(h) + _NORM_EPS)
    for a in range(len(h)):
        h[a] *= scale
    return scale


@inlined
def _gaussian_cdf(v: float) -> float:
    return 0.5 * (1.0 + math.erf(v * math.sqrt(0.5)))


@allocating
def _teach(
    weights_in: Array, hidden: Array, weights_out: Array, offsets: Array, X: Array, h: Array
) -> Array:
    """Outputs of the teacher for a block of rows, with the same arithmetic as for a single row."""
    targets = np.empty((len(X), len(offsets)))
    for i in range(len(X)):
        h[i] = hidden
        targets[i] = offsets
    for j in range(X.shape[1]):
        for i in range(len(X)):
            add_multiple(h[i], X[i, j], weights_in[j])
    for i in range(len(X)):
        _normalise(h[i])
        for a in range(len(hidden)):
            h[i, a] *= _gaussian_cdf(h[i, a])
    for a in range(len(hidden)):
        for i in range(len(X)):
            add_multiple(targets[i], h[i, a], weights_out[a])
    return targets


@inlined
def _forward(student: Array, x: Array, target: Array, hidden: Array, error: Array) -> float:
    """Error of a student for a row; ``hidden`` gets the normalised inputs of its neurons.

    Returns the scale of the normalisation.
    """
    d, width, n_out = len(x), len(hidden), len(error)
    gains, shifts = width * (d + 1), width * (d + 2)
    out = width * (d + 3)
    for a in range(width):
        hidden[a] = student[width * d + a] + dot(student[a * d : (a + 1) * d], x)
    scale = _normalise(hidden)
    for m in range(n_out):
        error[m] = student[out + width * n_out + m] - target[m]
    for a in range(width):
        v = student[gains + a] * hidden[a] + student[shifts + a]
        v *= _gaussian_cdf(v)
        start = out + a * n_out
        add_multiple(error, v, student[start : start + n_out])
    return scale


@allocating
def _backward(
    student: Array, x: Array, hidden: Array, error: Array, scale: float, gradient: Array
) -> None:
    """Gradient of the mean squared error of a row, for all numbers of a student."""
    d, width, n_out = len(x), len(hidden), len(error)
    gains, shifts = width * (d + 1), width * (d + 2)
    out = width * (d + 3)
    outputs = gradient[out + width * n_out :]
    for m in range(n_out):
        outputs[m] = 2.0 / n_out * error[m]
    slopes = np.empty(width)
    mean, along = 0.0, 0.0
    for a in range(width):
        v = student[gains + a] * hidden[a] + student[shifts + a]
        cdf = _gaussian_cdf(v)
        start = out + a * n_out
        for m in range(n_out):
            gradient[start + m] = v * cdf * outputs[m]
        back = dot(student[start : start + n_out], outputs)
        back *= cdf + v * math.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi)
        gradient[gains + a] = back * hidden[a]
        gradient[shifts + a] = back
        slopes[a] = back * student[gains + a]
        mean += slopes[a] / width
        along += slopes[a] * hidden[a] / width
    for a in range(width):
        slope = scale * (slopes[a] - mean - hidden[a] * along)
        gradient[width * d + a] = slope
        for j in range(d):
            gradient[a * d + j] = slope * x[j]


@inlined
def _adam(
    student: Array, first: Array, second: Array, gradient: Array, t: int, rate: float
) -> None:
    """Take the t-th step of Adam, counted from 1."""
    step = rate / (1.0 - _BETA1**t)
    spread = 1.0 / math.sqrt(1.0 - _BETA2**t)
    for k in range(len(student)):
        first[k] += (1.0 - _BETA1) * (gradient[k] - first[k])
        second[k] += (1.0 - _BETA2) * (gradient[k] * gradient[k] - second[k])
        student[k] -= step * first[k] / (math.sqrt(second[k]) * spread + _ADAM_EPS)


@allocating
def run(
    teacher_in: Array,
    teacher_hidden: Array,
    teacher_out: Array,
    teacher_offsets: Array,
    newborn: Array,
    students: Array,
    first: Array,
    second: Array,
    steps: Array,
    rate: float,
    n_rows_expected: int,
    X: Array,
    codes: Array,
    n_known: int,
    scores: Array,
) -> None:
    """Score each row if asked, then let the student of its class learn it."""
    block = np.empty((_BLOCK, len(teacher_hidden)))
    n_out = len(teacher_offsets)
    width = (len(newborn) - n_out) // (X.shape[1] + 3 + n_out)
    hidden, error = np.empty(width), np.empty(n_out)
    gradient = np.empty(len(newborn))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        targets = _teach(teacher_in, teacher_hidden, teacher_out, teacher_offsets, rows, block)
        for b in range(len(rows)):
            if len(scores):
                for c in range(n_known):
                    _forward(students[c], rows[b], targets[b], hidden, error)
                    scores[start + b, c] = -dot(error, error) / len(error)
            c = codes[start + b]
            if c >= 0:
                n_known = max(n_known, c + 1)
                if steps[c] == 0:
                    students[c] = newborn
                decay = 1.0
                if n_rows_expected > 0:
                    left = max(n_rows_expected - steps[c], 1)
                    decay = left / n_rows_expected
                steps[c] += 1
                scale = _forward(students[c], rows[b], targets[b], hidden, error)
                _backward(students[c], rows[b], hidden, error, scale, gradient)
                _adam(students[c], first[c], second[c], gradient, steps[c], rate * decay)


class PEC(UnweightedStreamClassifier):
    r"""Prediction error-based classification: predict the class whose student errs least.

    A random teacher network g is drawn once and frozen. Every class has a student
    :math:`f_c` that learns, from the rows of its class only, to give the teacher's output; a
    row costs one step of Adam on :math:`\frac{1}{m} \lVert f_c(x) - g(x) \rVert^2`. A student
    errs least on rows like those it has learnt, so the score of a class is minus that error.
    `predict_proba` is the softmax of the scores; it is not calibrated.

    Teacher and students are :math:`\mathrm{linear} \circ \mathrm{GELU} \circ
    \mathrm{layer\ norm} \circ \mathrm{linear}`, with weights drawn uniformly from
    :math:`\pm 1 / \sqrt{\text{inputs of the layer}}`. All students start equal. The defaults
    are the authors' for MNIST, but for the learning rate: it is constant unless
    `n_rows_expected` is given, since a stream does not give it.

    Parameters
    ----------
    width : int, default=10
        Hidden neurons of a student, 1 or more.
    teacher_width : int, default=5000
        Hidden neurons of the teacher, 1 or more.
    n_outputs : int, default=99
        Outputs m of teacher and students, 1 or more.
    learning_rate : float, default=0.01
        Adam's rate at the first row of a class, greater than 0.
    n_rows_expected : int or None, default=None
        Rows that each class will have. The rate of a student then falls linearly over the
        rows of its class, as in the authors' code, and from row ``n_rows_expected`` on it
        stays at ``learning_rate / n_rows_expected``. None keeps the rate constant.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random weights; None means 0.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    nbytes : int
        Exact bytes of the state: teacher, students and both moments of Adam.

    Notes
    -----
    Row weights are not supported: a row is one step, and Adam's steps do not scale with the
    gradient. Learning n rows in one call equals n calls with one row, bit for bit.

    References
    ----------
    Zajac, Tuytelaars and van de Ven, "Prediction Error-based Classification for
    Class-Incremental Learning", ICLR 2024, and the code published with it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from mist_bench.baselines import PEC
    >>> X, y = load_wine(return_X_y=True)
    >>> X, model = scale(X), PEC(n_rows_expected=60)
    >>> for label in range(3):  # one class after the other
    ...     model = model.partial_fit(X[y == label], y[y == label])
    >>> model.score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "width": [Interval(Integral, 1, None, closed="left")],
        "teacher_width": [Interval(Integral, 1, None, closed="left")],
        "n_outputs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_rows_expected": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        width: int = 10,
        teacher_width: int = 5000,
        n_outputs: int = 99,
        learning_rate: float = 0.01,
        n_rows_expected: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.teacher_width = teacher_width
        self.n_outputs = n_outputs
        self.learning_rate = learning_rate
        self.n_rows_expected = n_rows_expected
        self.random_state = random_state

    def _new_state(self, n_features: int) -> PECState:
        rng = np.random.default_rng(seed_of(self.random_state))
        d, h, wide, m = n_features, int(self.width), int(self.teacher_width), int(self.n_outputs)

        def uniform(n_inputs: int, *shape: int) -> Array:
            return rng.uniform(-1.0, 1.0, shape) / math.sqrt(n_inputs)

        teacher = uniform(d, d, wide), uniform(d, wide), uniform(wide, wide, m), uniform(wide, m)
        student = uniform(d, h * (d + 1)), np.ones(h), np.zeros(h), uniform(h, (h + 1) * m)
        newborn = np.concatenate(student)
        students, first, second = (np.zeros((0, len(newborn))) for _ in range(3))
        return PECState(*teacher, newborn, students, first, second, np.zeros(0, dtype=np.int64))

    def _grown(self, state: PECState, n_codes: int) -> PECState:
        return state._replace(
            students=widened(state.students, n_codes),
            first=widened(state.first, n_codes),
            second=widened(state.second, n_codes),
            steps=widened(state.steps, n_codes),
        )

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        rate, expected = float(self.learning_rate), self.n_rows_expected
        run(*self._state, rate, 0 if expected is None else int(expected), X, codes, n_known, scores)
