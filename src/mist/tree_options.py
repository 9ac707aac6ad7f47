"""Options of the leaves, of the split test and of what children inherit, as objects.

A parameter of `mist.MistClassifier` takes a name, which means all defaults, or an object. Objects
cannot be changed; `TreeOption.replace` makes a changed copy.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

__all__ = [
    "FullGaussian",
    "Gaussian",
    "Inheritance",
    "Majority",
    "Mixture",
    "Sketch",
    "SplitTest",
    "TreeOption",
]


class TreeOption:
    """What the objects have in common: parameters as scikit-learn reads them, and copies."""

    __slots__ = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name; ``deep`` has no effect, as in scikit-learn's estimators.

        Examples
        --------
        >>> Inheritance("mass").get_params()
        {'kind': 'mass', 'discount': 1.0}
        """
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from their defaults.

        Examples
        --------
        >>> SplitTest("gain", delta=0.01).changed()
        {'rule': 'gain', 'delta': 0.01}
        """
        defaults = {each.name: each.default for each in fields(self)}  # type: ignore[arg-type]
        # A type that differs is kept, so that a wrong one is refused later: 1 equals True.
        return {
            name: value
            for name, value in self.get_params().items()
            if type(value) is not type(defaults[name]) or value != defaults[name]
        }

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values of some options.

        Parameters
        ----------
        **changes
            Options and their values.

        Raises
        ------
        ValueError
            If there is no such option.

        Examples
        --------
        >>> SplitTest("gain", delta=0.01).replace(delta=0.05)
        SplitTest('gain', delta=0.05)
        """
        known = [*self.get_params()]
        for name in changes:
            if name not in known:
                kind = type(self).__name__
                raise ValueError(
                    f"{kind} has no option {name!r}: it has {', '.join(known)}"
                    if known
                    else f"{kind} has no option {name!r}: it has none"
                )
        return replace(self, **changes)  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        # Nothing can change the object, so models may share it.
        return self

    def __repr__(self) -> str:
        positional = ("rule", "kind")
        given = [
            repr(value) if name in positional else f"{name}={value!r}"
            for name, value in self.changed().items()
        ]
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Gaussian(TreeOption):
    """Leaves that are Gaussian naive Bayes classifiers (MIST-G in the paper): the fastest.

    Parameters
    ----------
    variance_prior : float, default=1.0
        Pseudo-observations that shrink the variance of a class towards the variance pooled over the
        classes of the leaf. Raise it for classes with few rows. The paper gives none.

    References
    ----------
    Pham et al., "MIST: Reliable Streaming Decision Trees for Online Class-Incremental
    Learning via McDiarmid Bound", 2026.

    Examples
    --------
    >>> from mist import Gaussian, MistClassifier
    >>> model = MistClassifier(leaf=Gaussian(variance_prior=5.0))
    >>> model.fit([[0.0], [0.2], [9.0]], ["low", "low", "high"]).predict([[8.0]])
    array(['high'], dtype='<U4')
    """

    _: KW_ONLY
    variance_prior: float = 1.0


@dataclass(frozen=True, repr=False)
class Sketch(TreeOption):
    """Leaves that are naive Bayes with densities read from quantile sketches (MIST-K in the paper).

    They suit columns with several modes or long tails. The size of the sketches is an option of the
    `SplitTest`, because the candidate thresholds come from the same sketches.

    Parameters
    ----------
    bandwidth : float, default=0.2
        Multiple of the local inter-quantile spacing. A larger value smooths more. It is the paper's
        beta; the default was chosen on training rows.
    smoothing : float, default=1e-3
        Dimensionless constant that keeps densities above 0 (the paper's epsilon_s).
    variance_prior : float, default=1.0
        As for `Gaussian`. It acts in columns in which the sketch of a class has too few values, or
        one value only.

    References
    ----------
    Pham et al., "MIST: Reliable Streaming Decision Trees for Online Class-Incremental
    Learning via McDiarmid Bound", 2026.

    Examples
    --------
    >>> from mist import MistClassifier, Sketch
    >>> MistClassifier(leaf=Sketch(bandwidth=0.5)).set_params(leaf__smoothing=0.01).leaf
    Sketch(bandwidth=0.5, smoothing=0.01)
    """

    _: KW_ONLY
    bandwidth: float = 0.2
    smoothing: float = 1e-3
    variance_prior: float = 1.0


@dataclass(frozen=True, repr=False)
class Mixture(TreeOption):
    """Leaves that are mixtures of Gaussians, which grow with the rows.

    With more than 100 numeric columns a class is one Gaussian with a low-rank plus diagonal
    covariance, and ``max_components`` has no effect. These leaves are not in the paper.

    Parameters
    ----------
    max_components : int, default=16
        Most Gaussians of a class at a leaf, from 1 to 1,000. Lower it to save memory and time.

    References
    ----------
    McLachlan and Peel, "Finite Mixture Models", 2000.

    Examples
    --------
    >>> from mist import MistClassifier, Mixture
    >>> MistClassifier(leaf=Mixture(max_components=4))
    MistClassifier(leaf=Mixture(max_components=4))
    """

    _: KW_ONLY
    max_components: int = 16


@dataclass(frozen=True, repr=False)
class FullGaussian(TreeOption):
    """Leaves with one Gaussian of full covariance for each class.

    They have no options, so ``leaf="full"`` means the same. They take at most 1,024 numeric
    columns, are faster and smaller than mixtures, and not in the paper.

    References
    ----------
    Chen, Wiesel, Eldar and Hero, "Shrinkage Algorithms for MMSE Covariance Estimation", IEEE
    Transactions on Signal Processing 58, 2010.

    Examples
    --------
    >>> from mist import FullGaussian, MistClassifier
    >>> MistClassifier(leaf=FullGaussian()).settings()["leaf"]
    'full'
    """


@dataclass(frozen=True, repr=False)
class Majority(TreeOption):
    """Leaves that know the class masses alone, for comparison with a textbook tree.

    They have no options, so ``leaf="majority"`` means the same.

    References
    ----------
    Domingos and Hulten, "Mining High-Speed Data Streams", KDD 2000.

    Examples
    --------
    >>> from mist import Majority, MistClassifier
    >>> MistClassifier(leaf=Majority()).settings()["leaf"]
    'majority'
    """


@dataclass(frozen=True, repr=False)
class SplitTest(TreeOption):
    """When and where a leaf splits.

    An option that has no effect with the others is refused when the model learns. None, where it is
    the default, means that the option is not given.

    Parameters
    ----------
    rule : {"gap", "gain", "schedule", "eprocess"}, default="gap"
        When a leaf splits. ``"gap"``, the paper's: the best feature beats the second best by more
        than the radius. ``"gain"``: the best gain is above the radius. ``"schedule"``: without a
        test, at the best feature, once the leaf has seen ``rows_per_split`` rows, with all classes
        weighted alike; use it for trees that grow with the rows. ``"eprocess"``: up to four pairs
        of children learn next to a leaf, and one replaces it when it has predicted better, by a
        test valid at every row at level ``delta`` for each leaf; learning is much slower.
    delta : float or None, default=None
        Failure probability of the test, in (0, 1); not for ``"schedule"``. A smaller value gives
        fewer splits. None means 0.1, the paper's.
    tie_threshold : float or None, default=None
        A leaf splits on any positive gain once the confidence radius is below this value. A larger
        value gives more splits, 0 turns the rule off. None means 0.05, the paper's tau. For
        ``"gap"`` and ``"gain"``, without the two ``"confseq"`` bounds.
    bound : str or None, default=None
        Confidence radius of ``"gap"`` and ``"gain"``. ``"mcdiarmid"`` (the paper's),
        ``"rutkowski"`` and ``"hoeffding"`` (the Hoeffding tree's) are defined in
        `mist.engine.criterion.radius`. ``"confseq"`` adapts to the variance of the gain and holds
        at all attempts together, whatever the dependence between columns; it finds a gain with far
        fewer rows than ``"mcdiarmid"``. ``"confseq_independent"`` requires columns that are
        independent within a class. None means ``"mcdiarmid"``, and ``"hoeffding"`` for the
        information gain.
    union_bound : bool or None, default=None
        Whether the radius covers all features and thresholds examined, for ``"mcdiarmid"`` and the
        two ``"confseq"`` bounds. False splits sooner and weakens the guarantee. None means True,
        the paper's.
    criterion : {"gini", "info_gain", "likelihood"}, default="gini"
        Gain of a split. ``"gini"`` is the paper's. ``"info_gain"`` requires ``bound="hoeffding"``.
        ``"likelihood"`` is the gain in log likelihood of a naive Bayes leaf, and a split needs half
        a nat of it; it suits correlated columns and requires the rule ``"schedule"``, joint
        inheritance and Gaussian or sketch leaves.
    thresholds : {"medians", "dense", "sampled", "gaussian"}, default="medians"
        Candidate thresholds of a column: midpoints between class medians (the paper's), an even
        grid, values drawn from the sketches, or midpoints between class means. ``"gaussian"`` keeps
        no sketches, which saves memory.
    n_thresholds : int or None, default=None
        Candidates in each column for ``"dense"`` and ``"sampled"``. None means 10, the paper's.
    rows_per_split : int or None, default=None
        Rows a leaf needs for a ``"schedule"`` split, checked every ``grace_period`` rows. With
        ``"eprocess"`` the next columns are tried after twice as many. A smaller value gives a
        larger tree. None means 500. Not in the paper.
    max_features : float or None, default=None
        Share of the columns that an attempt to split examines, in (0, 1], drawn at random each
        time; None examines all. It makes the trees of a forest differ (Breiman, 2001).
    sketch_size : int or None, default=None
        Capacity k of the top level of a quantile sketch, from 8 to 32,768. A larger value gives
        more exact thresholds, and densities of sketch leaves, and takes more memory. None means 64,
        the paper's.
    sketch_dtype : {"float64", "float32"} or None, default=None
        Precision of the values in the sketches. ``"float32"`` saves memory: it takes half the bytes
        and rounds each value to 24 binary digits. Moments are always float64. None means
        ``"float64"``.
    max_classes_per_leaf : int or None, default=None
        Only the first so many classes of a leaf get a sketch; later ones keep their Gaussian alone.
        Use it to limit memory; None sets no limit. It is the paper's K_cap.

    References
    ----------
    Pham et al., "MIST: Reliable Streaming Decision Trees for Online Class-Incremental
    Learning via McDiarmid Bound", 2026; Domingos and Hulten, "Mining High-Speed Data Streams", KDD
    2000; Rutkowski, Pietruczuk, Duda and Jaworski, "Decision Trees for Mining Data Streams Based on
    the McDiarmid's Bound", IEEE Transactions on Knowledge and Data Engineering 25, 2013; Breiman,
    "Random Forests", Machine Learning 45, 2001; Karnin, Lang and Liberty, "Optimal quantile
    approximation in streams", 2016.

    Examples
    --------
    >>> from mist import MistClassifier, SplitTest
    >>> model = MistClassifier(split_test=SplitTest("schedule", rows_per_split=300))
    >>> model.set_params(split_test__rows_per_split=200).split_test
    SplitTest('schedule', rows_per_split=200)
    """

    rule: str = "gap"
    _: KW_ONLY
    delta: float | None = None
    tie_threshold: float | None = None
    bound: str | None = None
    union_bound: bool | None = None
    criterion: str = "gini"
    thresholds: str = "medians"
    n_thresholds: int | None = None
    rows_per_split: int | None = None
    max_features: float | None = None
    sketch_size: int | None = None
    sketch_dtype: str | None = None
    max_classes_per_leaf: int | None = None


@dataclass(frozen=True, repr=False)
class Inheritance(TreeOption):
    """Statistics that the children of a split start from.

    Parameters
    ----------
    kind : {"gaussian", "mass", "sketch", "joint"}, default="joint"
        ``"joint"`` changes all numeric columns along with the split column by their covariance with
        it (for Gaussian and sketch leaves up to 4,096 columns); it is not in the paper.
        ``"gaussian"``, the paper's, gives the split column truncated-Gaussian moments. ``"mass"``
        divides the masses and keeps the moments. ``"sketch"`` takes the means of the split column
        from the sketches.
    discount : float, default=1.0
        Factor on inherited masses, in (0, 1]. A smaller value lets new rows outweigh them sooner.
        With ``"joint"`` it acts on the weight of the inherited moments only, so no class becomes
        less probable by a split. It is the paper's alpha, which is 0.6 there.

    References
    ----------
    Pham et al., "MIST: Reliable Streaming Decision Trees for Online Class-Incremental
    Learning via McDiarmid Bound", 2026.

    Examples
    --------
    >>> from mist import Inheritance, MistClassifier
    >>> MistClassifier(inheritance=Inheritance("gaussian", discount=0.6)).settings()["discount"]
    0.6
    """

    kind: str = "joint"
    _: KW_ONLY
    discount: float = 1.0

    def __post_init__(self) -> None:
        if self.kind is None:
            raise ValueError("kind is None: write inheritance=None, without an object")
