"""Estimators of this library as batch classifiers of CapyMOA, which take tensors.

Needs CapyMOA with torch, and Java: ``pip install 'mist-tree[capymoa]' 'capymoa[torch]'``.
"""

from __future__ import annotations

from typing import Any

from mist.interop.capymoa import EstimatorClassifier

try:
    import torch
    from capymoa.base import BatchClassifier
except ImportError as error:
    raise ImportError(
        "mist.interop.capymoa_batch needs torch: pip install 'capymoa[torch]'", name="torch"
    ) from error

__all__ = ["EstimatorBatchClassifier"]


class EstimatorBatchClassifier(EstimatorClassifier, BatchClassifier):
    """Any estimator of this library as a batch classifier of CapyMOA.

    Parameters
    ----------
    schema : capymoa.stream.Schema
        Attributes and labels of the stream.
    estimator : object
        For example a `mist.MistClassifier` or one of `mist.baselines`. A clone is trained.
    random_seed : int, default=1
        Sets the ``random_state`` of the estimator if that is None.

    Attributes
    ----------
    model : object
        The trained estimator. Its labels are indices into the labels of the schema.

    Notes
    -----
    The model equals that of `mist.interop.capymoa.EstimatorClassifier`, which learns row by row,
    bit for bit, but takes less time. CapyMOA predicts a complete batch before it is learnt, so the
    prequential accuracy depends on the batch size. Before anything is learnt all probabilities
    are 0, and CapyMOA predicts label 0. Rows are float64.

    Examples
    --------
    >>> from capymoa.stream import NumpyStream
    >>> from mist import MistClassifier
    >>> X, y = torch.tensor([[0.0], [9.0], [1.0]]).double(), torch.tensor([0, 1, 0])
    >>> stream = NumpyStream(X.numpy(), y.numpy(), target_type="categorical")
    >>> learner = EstimatorBatchClassifier(stream.get_schema(), MistClassifier("gaussian"))
    >>> learner.batch_train(X, y)
    >>> learner.batch_predict(X)
    tensor([0, 1, 0])
    """

    x_dtype = torch.float64

    def batch_train(self, x: Any, y: Any) -> None:
        """Learn a batch.

        Parameters
        ----------
        x : torch.Tensor of float64, shape (n, d)
            Rows.
        y : torch.Tensor of int64, shape (n,)
            Indices of their labels; rows with label -1 are left out.

        Raises
        ------
        ValueError
            If a label is not in the schema, or a value is infinite; then nothing is learnt.
        """
        labels = y.numpy()
        labelled = labels >= 0
        self._check_label(labels.max(initial=-1))
        if labelled.any():
            self.model.partial_fit(self._rows(x.numpy()[labelled]), labels[labelled])

    def batch_predict_proba(self, x: Any) -> Any:
        """Probability of every label of the schema for a batch.

        Parameters
        ----------
        x : torch.Tensor of float64, shape (n, d)
            Rows.

        Returns
        -------
        torch.Tensor of float64, shape (n, n_labels)
            Zeros if nothing was learnt yet.
        """
        return torch.from_numpy(self._shares(x.numpy()))
