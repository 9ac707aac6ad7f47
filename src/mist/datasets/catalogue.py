"""Registry of all named data sets: description, expected content and origin.

The registry holds only facts; it loads and imports no data.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mist import plugins

__all__ = ["REGISTRY", "Entry", "all_entries", "find_entry", "generated"]

Kind = Literal["bundled", "file", "generated"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The facts about a data set before it is loaded.

    Examples
    --------
    >>> from mist.datasets import REGISTRY
    >>> letter = REGISTRY["letter"]
    >>> letter.rows, letter.columns, letter.n_classes, letter.openml_id
    (20000, 16, 26, 6)
    """

    name: str
    """Name for ``load``."""

    title: str
    """Full name."""

    kind: Kind = "file"
    """Bundled with scikit-learn, an ``.npz`` file, or generated from a seed."""

    rows: int
    """Rows of the table; for a generated set, the default number."""

    columns: int
    """Columns of the stored table."""

    class_names: tuple[str, ...]
    """Names of the classes, in label order."""

    labels: Sequence[int] = ()
    """Labels of the classes; 0 to K - 1 if not given."""

    counts: tuple[int, ...] | None = None
    """Rows of each class; None if unknown or as equal as possible."""

    n_train: int | None = None
    """Rows of the customary training part, which come first."""

    train_counts: tuple[int, ...] | None = None
    """Rows of each class in the training part, to detect a copy in another order."""

    columns_0_1: Sequence[int] = ()
    """Positions of the stored columns that hold only 0 and 1."""

    feature_names: tuple[str, ...] = ()
    """Names of the stored columns, if the file does not have them."""

    pixels: bool = False
    """Whether the columns are grey values of an image, 0 to 255."""

    source: str
    """Origin of the table."""

    licence: str
    """Terms of use, as far as known."""

    citation: str = ""
    """What to cite."""

    note: str = ""
    """What a user must know before comparing results."""

    file: str = ""
    """Name of the ``.npz`` file."""

    sha256: str | None = None
    """Checksum of the reference copy of that file, in hexadecimal."""

    openml_id: int | None = None
    """Number of the set on OpenML, if it is downloaded from there."""

    openml_first: int | None = None
    """Number of the first class on OpenML, if it is not our first label."""

    fetcher: str | None = None
    """Function of ``sklearn.datasets`` that downloads it, if it is not from OpenML."""

    generator: str = ""
    """Module and name of the function that makes a generated set, with a colon between them."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of that function, the same in every call."""

    version: int | None = None
    """Version of a generator: the same version, seed and sizes give the same bytes."""

    def __post_init__(self) -> None:
        """Fill in the labels."""
        if not self.labels:
            object.__setattr__(self, "labels", range(self.n_classes))

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.class_names)

    @property
    def download(self) -> str | None:
        """Source of the download; None if there is no public copy for scikit-learn."""
        if self.openml_id is not None:
            return f"OpenML {self.openml_id}"
        return f"sklearn.datasets.{self.fetcher}" if self.fetcher else None


_DIGITS = tuple("0123456789")
_LETTERS = tuple(string.ascii_uppercase)
_UCI = "UCI Machine Learning Repository"
_CC_BY = "CC BY 4.0"

_BUNDLED = (
    Entry(
        name="iris",
        title="Iris",
        kind="bundled",
        rows=150,
        columns=4,
        class_names=("setosa", "versicolor", "virginica"),
        counts=(50, 50, 50),
        source=f"Iris, {_UCI}, as bundled with scikit-learn",
        licence=_CC_BY,
        citation="R. A. Fisher, The use of multiple measurements in taxonomic problems, "
        "Annals of Eugenics 7 (1936), 179-188",
    ),
    Entry(
        name="wine",
        title="Wine",
        kind="bundled",
        rows=178,
        columns=13,
        class_names=("class_0", "class_1", "class_2"),
        counts=(59, 71, 48),
        source=f"Wine, {_UCI}, as bundled with scikit-learn",
        licence=_CC_BY,
        citation=f"S. Aeberhard, M. Forina, Wine, {_UCI} (1991)",
    ),
    Entry(
        name="digits",
        title="Optdigits, test part",
        kind="bundled",
        rows=1797,
        columns=64,
        class_names=_DIGITS,
        counts=(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        source="Optical Recognition of Handwritten Digits (test part), "
        f"{_UCI}, as bundled with scikit-learn",
        licence=_CC_BY,
        citation="E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, "
        f"{_UCI} (1998)",
    ),
)

_FILES = (
    Entry(
        name="covertype",
        title="Covertype",
        rows=581_012,
        columns=54,
        class_names=(
            "Spruce/Fir",
            "Lodgepole Pine",
            "Ponderosa Pine",
            "Cottonwood/Willow",
            "Aspen",
            "Douglas-fir",
            "Krummholz",
        ),
        labels=range(1, 8),
        counts=(211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510),
        n_train=15_120,
        train_counts=(2_160,) * 7,
        columns_0_1=range(10, 54),
        source=f"Covertype, {_UCI} (Blackard, Colorado State University)",
        licence=_CC_BY,
        citation="J. A. Blackard, D. J. Dean, Comparative accuracies of artificial neural networks "
        "and discriminant analysis in predicting forest cover types from cartographic variables, "
        "Computers and Electronics in Agriculture 24 (1999), 131-151",
        note="Raw values. Keep the donor's copyright notice when passing it on. The training part "
        "is UCI's training and validation rows; most stream papers use the whole file in order.",
        file="covertype.npz",
        sha256="fbb0f1bc3c9b28171e220a315c2f2253f86745e1a513f33e08876a5e467b8ab8",
        fetcher="fetch_covtype",
    ),
    Entry(
        name="mnist",
        title="MNIST",
        rows=70_000,
        columns=784,
        class_names=_DIGITS,
        counts=(6_903, 7_877, 6_990, 7_141, 6_824, 6_313, 6_876, 7_293, 6_825, 6_958),
        n_train=60_000,
        train_counts=(5_923, 6_742, 5_958, 6_131, 5_842, 5_421, 5_918, 6_265, 5_851, 5_949),
        pixels=True,
        source="MNIST (LeCun, Cortes, Burges)",
        licence="usually given as CC BY-SA 3.0",
        citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to "
        "document recognition, Proceedings of the IEEE 86 (1998), 2278-2324",
        file="mnist.npz",
        sha256="24003b492facaa7dda1810c1c3a12efed06808d79f21f22fedef31497b9561e0",
        openml_id=554,
    ),
    Entry(
        name="fashion_mnist",
        title="Fashion-MNIST",
        rows=70_000,
        columns=784,
        class_names=(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        counts=(7_000,) * 10,
        n_train=60_000,
        train_counts=(6_000,) * 10,
        pixels=True,
        source="Fashion-MNIST (Zalando Research)",
        licence="MIT",
        citation="H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST: a novel image dataset for "
        "benchmarking machine learning algorithms (2017), arXiv:1708.07747",
        file="fashion_mnist.npz",
        sha256="038cd33d678bdc26dbfdd1335bcce3eeb733539587cc171c0d91ffbfe85be1c7",
        openml_id=40996,
    ),
    Entry(
        name="pendigits",
        title="Pendigits",
        rows=10_992,
        columns=16,
        class_names=_DIGITS,
        counts=(1_143, 1_143, 1_144, 1_055, 1_144, 1_055, 1_056, 1_142, 1_055, 1_055),
        n_train=7_494,
        train_counts=(780, 779, 780, 719, 780, 720, 720, 778, 719, 719),
        source=f"Pen-Based Recognition of Handwritten Digits, {_UCI}",
        licence=_CC_BY,
        citation="E. Alpaydin, F. Alimoglu, Pen-Based Recognition of Handwritten Digits, "
        f"{_UCI} (1998)",
        file="pendigits.npz",
        sha256="8c7bd92eb036ce840eb1a2849404e55565d57813698aea228ad83b69bcbfc80a",
        openml_id=32,
    ),
    Entry(
        name="shuttle",
        title="Statlog Shuttle",
        rows=58_000,
        columns=9,
        class_names=(
            "Rad Flow",
            "Fpv Close",
            "Fpv Open",
            "High",
            "Bypass",
            "Bpv Close",
            "Bpv Open",
        ),
        labels=range(1, 8),
        counts=(45_586, 50, 171, 8_903, 3_267, 10, 13),
        n_train=43_500,
        train_counts=(34_108, 37, 132, 6_748, 2_458, 6, 11),
        source=f"Statlog (Shuttle), NASA, {_UCI}",
        licence=_CC_BY,
        citation=f"Statlog (Shuttle), {_UCI}",
        file="shuttle.npz",
        sha256="232aab9fd909bd37f8871dc638f6028f8c69f616d1683ae8257b1de3b35ce94c",
        openml_id=40685,
    ),
    Entry(
        name="letter",
        title="Letter recognition",
        rows=20_000,
        columns=16,
        class_names=_LETTERS,
        counts=(
            *(789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792),
            *(783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734),
        ),
        n_train=16_000,
        train_counts=(
            *(633, 630, 594, 638, 616, 622, 609, 583, 590, 599, 593, 604, 648),
            *(617, 614, 635, 615, 597, 587, 645, 645, 628, 613, 628, 641, 576),
        ),
        source=f"Letter Recognition, {_UCI} (Slate)",
        licence=_CC_BY,
        citation="P. W. Frey, D. J. Slate, Letter recognition using Holland-style adaptive "
        "classifiers, Machine Learning 6 (1991), 161-182",
        file="letter.npz",
        sha256="24dd88d7d673f2986afb11a08cc9a8d011f973258dc0669580be08b1a8e1d547",
        openml_id=6,
    ),
    Entry(
        name="optdigits",
        title="Optdigits",
        rows=5_620,
        columns=64,
        class_names=_DIGITS,
        counts=(554, 571, 557, 572, 568, 558, 558, 566, 554, 562),
        n_train=3_823,
        train_counts=(376, 389, 380, 389, 387, 376, 377, 387, 380, 382),
        source=f"Optical Recognition of Handwritten Digits, {_UCI}",
        licence=_CC_BY,
        citation="E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, "
        f"{_UCI} (1998)",
        file="optdigits.npz",
        sha256="e864f2b1d8b82d7121fa0914d900dec5b30fa4f9f2cfb1045caf9702fdfb0e54",
        openml_id=28,
    ),
    Entry(
        name="satimage",
        title="Statlog Landsat Satellite",
        rows=6_435,
        columns=36,
        class_names=(
            "red soil",
            "cotton crop",
            "grey soil",
            "damp grey soil",
            "vegetation stubble",
            "very damp grey soil",
        ),
        labels=(1, 2, 3, 4, 5, 7),
        counts=(1_533, 703, 1_358, 626, 707, 1_508),
        n_train=4_435,
        train_counts=(1_072, 479, 961, 415, 470, 1_038),
        source=f"Statlog (Landsat Satellite), {_UCI}",
        licence=_CC_BY,
        citation=f"A. Srinivasan, Statlog (Landsat Satellite), {_UCI} (1993)",
        file="satimage.npz",
        sha256="43050d4ba97a3355225c3b3e041bbf0fe0fc05cc93bf08b3f539cc3182b6494f",
        openml_id=182,
    ),
    Entry(
        name="electricity",
        title="Electricity (elec2, normalised)",
        rows=45_312,
        columns=8,
        class_names=("DOWN", "UP"),
        counts=(26_075, 19_237),
        source="Harries 1999, as normalised for MOA by Gama",
        licence="none stated",
        citation="M. Harries, Splice-2 comparative evaluation: electricity pricing, "
        "University of New South Wales (1999)",
        note="In time order. The weekday is kept as a number, 1 to 7.",
        file="electricity.npz",
        sha256="01fc2585e54a54d2ecf060ff6d95d0495d5cc91afaa768b51d7ef545554956f0",
        openml_id=151,
    ),
    Entry(
        name="kddcup99_10pct",
        title="KDD Cup 1999, 10 % subset",
        rows=494_021,
        columns=41,
        class_names=(
            *("back", "buffer_overflow", "ftp_write", "guess_passwd", "imap", "ipsweep", "land"),
            *("loadmodule", "multihop", "neptune", "nmap", "normal", "perl", "phf", "pod"),
            *("portsweep", "rootkit", "satan", "smurf", "spy", "teardrop", "warezclient"),
            "warezmaster",
        ),
        counts=(
            *(2_203, 30, 8, 53, 12, 1_247, 21, 9, 7, 107_201, 231, 97_278),
            *(3, 4, 264, 1_040, 10, 1_589, 280_790, 2, 979, 1_020, 20),
        ),
        columns_0_1=(6, 11, 13, 20, 21),
        feature_names=(
            *("duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land"),
            *("wrong_fragment", "urgent", "hot", "num_failed_logins", "logged_in"),
            *("num_compromised", "root_shell", "su_attempted", "num_root", "num_file_creations"),
            *("num_shells", "num_access_files", "num_outbound_cmds", "is_host_login"),
            *("is_guest_login", "count", "srv_count", "serror_rate", "srv_serror_rate"),
            *("rerror_rate", "srv_rerror_rate", "same_srv_rate", "diff_srv_rate"),
            *("srv_diff_host_rate", "dst_host_count", "dst_host_srv_count"),
            *("dst_host_same_srv_rate", "dst_host_diff_srv_rate", "dst_host_same_src_port_rate"),
            *("dst_host_srv_diff_host_rate", "dst_host_serror_rate", "dst_host_srv_serror_rate"),
            *("dst_host_rerror_rate", "dst_host_srv_rerror_rate"),
        ),
        source=f"KDD Cup 1999, {_UCI}",
        licence=_CC_BY,
        citation="S. Stolfo, W. Fan, W. Lee, A. Prodromidis, P. Chan, KDD Cup 1999 Data, "
        f"{_UCI} (1999)",
        note="Protocol, service and flag are one-hot encoded when loaded: 118 columns.",
        file="kddcup99_10pct.npz",
        sha256="5ca4d746c73f952ccd173f8a67102422db9dcd21577bb4f7b0ac75b9747c7677",
        fetcher="fetch_kddcup99",
    ),
    Entry(
        name="har",
        title="Human Activity Recognition",
        rows=10_299,
        columns=561,
        class_names=(
            "WALKING",
            "WALKING_UPSTAIRS",
            "WALKING_DOWNSTAIRS",
            "SITTING",
            "STANDING",
            "LAYING",
        ),
        labels=range(1, 7),
        counts=(1_722, 1_544, 1_406, 1_777, 1_906, 1_944),
        source=f"Human Activity Recognition Using Smartphones, {_UCI}",
        licence=_CC_BY,
        citation="D. Anguita, A. Ghio, L. Oneto, X. Parra, J. L. Reyes-Ortiz, A public domain "
        "dataset for human activity recognition using smartphones, ESANN 2013",
        note="The official split is not known for the order of the download.",
        file="har.npz",
        openml_id=1478,
    ),
    Entry(
        name="hapt",
        title="HAPT, 561 features recomputed",
        rows=10_929,
        columns=561,
        class_names=(
            "WALKING",
            "WALKING_UPSTAIRS",
            "WALKING_DOWNSTAIRS",
            "SITTING",
            "STANDING",
            "LAYING",
            "STAND_TO_SIT",
            "SIT_TO_STAND",
            "SIT_TO_LIE",
            "LIE_TO_SIT",
            "STAND_TO_LIE",
            "LIE_TO_STAND",
        ),
        labels=range(1, 13),
        counts=(1_722, 1_544, 1_407, 1_801, 1_979, 1_958, 70, 33, 107, 85, 139, 84),
        n_train=7_767,
        train_counts=(1_226, 1_073, 987, 1_293, 1_423, 1_413, 47, 23, 75, 60, 90, 57),
        source="Smartphone-Based Recognition of Human Activities and Postural Transitions, "
        f"{_UCI}; features recomputed from the raw signals",
        licence=_CC_BY,
        citation="J. L. Reyes-Ortiz, L. Oneto, A. Sama, X. Parra, D. Anguita, Transition-aware "
        "human activity recognition using smartphones, Neurocomputing 171 (2016), 754-767",
        note="Not the published feature matrix: windows, labels, split and order are UCI's, the "
        "561 features were recomputed. With basic=True the six activities of HAR: 10,411 rows "
        "where HAR itself has 10,299.",
        file="hapt561.npz",
        sha256="6c77db8757d86867690d43f5c9eba8227a89b04457b520749cfbbc11eb87b357",
    ),
    Entry(
        name="isolet",
        title="ISOLET",
        rows=7_797,
        columns=617,
        class_names=_LETTERS,
        source=f"ISOLET, {_UCI} (Cole, Fanty)",
        licence=_CC_BY,
        citation=f"R. Cole, M. Fanty, ISOLET, {_UCI} (1991)",
        note="Rows, columns and classes of a copy are checked, but not the rows of each class.",
        file="isolet.npz",
        openml_id=300,
        openml_first=1,
    ),
    Entry(
        name="isolet_1_5",
        title="ISOLET, parts 1 and 5 only",
        rows=3_119,
        columns=617,
        class_names=_LETTERS,
        counts=(*(120,) * 12, 119, *(120,) * 13),
        n_train=1_560,
        train_counts=(60,) * 26,
        source=f"ISOLET, {_UCI} (Cole, Fanty)",
        licence=_CC_BY,
        citation=f"R. Cole, M. Fanty, ISOLET, {_UCI} (1991)",
        note="Partial: 30 of the 120 training speakers, sorted by class, and the whole test part.",
        file="isolet_1_5.npz",
        sha256="6d945f7e650f7035df3b9dbf552e88eb3c7ad7f4de3b5a13f56445ddf6951527",
    ),
    Entry(
        name="outdoor",
        title="Outdoor objects",
        rows=4_000,
        columns=21,
        class_names=tuple(str(k) for k in range(40)),
        counts=(100,) * 40,
        source="https://github.com/vlosing/driftDatasets",
        licence="none stated",
        citation="V. Losing, B. Hammer, H. Wersing, Interactive online learning for obstacle "
        "classification on a mobile robot, IJCNN 2015",
        note="In time order.",
        file="outdoor.npz",
        sha256="326271954cbf19d2303cbd47b16cf9beb6ed490e9606c900cbbf5b8aad9b33c7",
    ),
)


def generated(
    name: str,
    generator: str,
    title: str,
    n_classes: int,
    columns: int,
    rows_per_class: int = 500,
    **settings: Any,
) -> Entry:
    """Describe a synthetic set.

    Parameters
    ----------
    name, title : str
        Short and full name.
    generator : str
        Module and name of the function that makes it, with a colon between them. It takes
        ``n_samples``, ``n_classes``, ``n_features`` and ``seed``.
    n_classes, columns, rows_per_class : int
        Sizes.
    **settings
        Further arguments of the function.

    Returns
    -------
    Entry
        Its facts.

    Examples
    --------
    >>> generated("two", "mist.datasets:make_multimodal", "two classes", 2, 10).rows
    1000
    """
    return Entry(
        name=name,
        title=title,
        kind="generated",
        rows=rows_per_class * n_classes,
        columns=columns,
        class_names=tuple(f"class_{k}" for k in range(n_classes)),
        source=f"made by {generator.partition(':')[0]}, {title}",
        licence="BSD-3-Clause",
        generator=generator,
        settings=settings,
        version=1,
    )


_GAUSSIANS = "mist.datasets:make_gaussian_classes"
_SIGMA = 0.3
"""Of all sets of round Gaussians: the paper states it for the random-means streams."""

_GENERATED = (
    generated("synth10", _GAUSSIANS, "10 round Gaussians", 10, 10, spread=_SIGMA),
    generated("synth50", _GAUSSIANS, "50 round Gaussians", 50, 10, spread=_SIGMA),
    generated("random_means", _GAUSSIANS, "many round Gaussians", 100, 10, spread=_SIGMA),
    generated("multimodal", "mist.datasets:make_multimodal", "three modes a class", 8, 10),
)

REGISTRY: dict[str, Entry] = {entry.name: entry for entry in (*_BUNDLED, *_FILES, *_GENERATED)}
"""All named data sets of this library, by name."""


def all_entries() -> dict[str, Entry]:
    """Gather all named data sets: `REGISTRY`, and what installed packages add (`mist.plugins`).

    Returns
    -------
    dict
        Entries by name.

    Examples
    --------
    >>> "iris" in all_entries()
    True
    """
    more = [entry for point in plugins.added("datasets").values() for entry in point.load()]
    return {**REGISTRY, **{entry.name: entry for entry in more}}


def find_entry(name: str) -> Entry:
    """Find the entry with a name.

    Parameters
    ----------
    name : str
        Name of a data set; capitals do not matter and a hyphen may stand for an underscore.

    Returns
    -------
    Entry
        The entry.

    Raises
    ------
    ValueError
        If there is no such data set.

    Examples
    --------
    >>> from mist.datasets.catalogue import find_entry
    >>> find_entry("Fashion-MNIST").name
    'fashion_mnist'
    """
    key = name.lower().replace("-", "_")
    if key in REGISTRY:
        return REGISTRY[key]
    known = all_entries()
    if key not in known:
        hint = "" if len(known) > len(REGISTRY) else f". Stress sets: {plugins.HINT}"
        raise ValueError(f"no data set called {name!r}: choose one of {', '.join(known)}{hint}")
    return known[key]
