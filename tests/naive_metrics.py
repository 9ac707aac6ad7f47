"""Slow and obvious twins of the metrics: plain loops over lists."""

from itertools import pairwise, product
from math import isnan


def final_accuracy(matrix):
    last = [value for value in matrix[-1] if not isnan(value)]
    return sum(last) / len(last) if last else float("nan")


def average_forgetting(matrix):
    n_tasks = len(matrix)
    if n_tasks == 1:
        return 0.0
    drops = []
    for task in range(n_tasks - 1):
        if isnan(matrix[task][task]):
            continue
        best = matrix[task][task]
        for step in range(task + 1, n_tasks - 1):
            best = max(best, matrix[step][task])
        drops.append(best - matrix[n_tasks - 1][task])
    return sum(drops) / len(drops) if drops else float("nan")


def backward_transfer(matrix):
    n_tasks = len(matrix)
    if n_tasks == 1:
        return 0.0
    changes = []
    for task in range(n_tasks - 1):
        if not isnan(matrix[task][task]):
            changes.append(matrix[n_tasks - 1][task] - matrix[task][task])
    return sum(changes) / len(changes) if changes else float("nan")


def prequential_accuracy(correct):
    return sum(1 for hit in correct if hit) / len(correct)


def windowed_accuracy(correct, window):
    curve = []
    for row in range(len(correct)):
        recent = correct[max(0, row - window + 1) : row + 1]
        curve.append(prequential_accuracy(recent))
    return curve


def fading_accuracy(correct, factor):
    curve = []
    for row in range(len(correct)):
        score = weight = 0.0
        for past in range(row + 1):
            share = factor ** (row - past)
            score += share * correct[past]
            weight += share
        curve.append(score / weight)
    return curve


def class_recall(y_true, y_pred):
    recall = {}
    for label in sorted(set(y_true)):
        answers = [answer for truth, answer in zip(y_true, y_pred, strict=True) if truth == label]
        recall[label] = answers.count(label) / len(answers)
    return recall


def seen_accuracy(recall, rows):
    curve = []
    for evaluation in recall:
        hits = tested = 0.0
        for value, n in zip(evaluation, rows, strict=True):
            if not isnan(value):
                hits += n * value
                tested += n
        curve.append(hits / tested if tested else float("nan"))
    return curve


def anytime_accuracy(seen):
    return final_accuracy([seen])


def gini_impurity(masses):
    return 1 - sum((mass / sum(masses)) ** 2 for mass in masses)


def weighted_impurity(masses):
    total = sum(map(sum, masses))
    return sum(sum(leaf) / total * gini_impurity(leaf) for leaf in masses if sum(leaf))


def mean_classes(masses):
    return sum(1 for leaf in masses for mass in leaf if mass > 0) / len(masses)


def resampled_means(values):
    """The means of all n^n ways to draw n of n values, in order; none is drawn at random."""
    return sorted(sum(sample) / len(values) for sample in product(values, repeat=len(values)))


def nested_resampled_means(groups):
    """The (mean, probability) of all ways to draw groups and then values of each, in order."""
    found = []
    for chosen in product(groups, repeat=len(groups)):
        ways = [resampled_means(group) for group in chosen]
        chance = 1 / len(groups) ** len(groups)
        for own in ways:
            chance /= len(own)
        found += [(sum(means) / len(groups), chance) for means in product(*ways)]
    return sorted(found)


def forgetting_from_first(matrix):
    """Forgetting of every task as Avalanche defines it: first accuracy minus last."""
    return [matrix[task][task] - matrix[-1][task] for task in range(len(matrix))]


def backward_transfer_of_all_steps(matrix):
    """Backward transfer as CapyMOA defines it: the mean over all pairs below the diagonal."""
    pairs = [(step, task) for step in range(len(matrix)) for task in range(step)]
    return sum(matrix[step][task] - matrix[task][task] for step, task in pairs) / len(pairs)


def mean_seen_accuracy(matrix):
    """CapyMOA's average accuracy on seen tasks: each step the mean over the tasks learnt."""
    steps = [sum(row[: step + 1]) / (step + 1) for step, row in enumerate(matrix)]
    return sum(steps) / len(steps)


def forgetting_from_best(matrix):
    """Forgetting as Koh et al. compute it for A_AUC's companion F_last.

    A class not seen yet has accuracy 0, and one that was never above 0 is left out; the last
    step is not among those of which the best is taken.
    """
    drops = []
    for task in range(len(matrix)):
        before = [row[task] if task <= step else 0.0 for step, row in enumerate(matrix[:-1])]
        if max(before) > 0:
            drops.append(max(before) - matrix[-1][task])
    return sum(drops) / len(drops)


def kappa_temporal(y_true, y_pred):
    n = len(y_true)
    right = sum(1 for truth, answer in zip(y_true, y_pred, strict=True) if truth == answer) / n
    same = sum(1 for row in range(1, n) if y_true[row] == y_true[row - 1]) / n
    return (right - same) / (1 - same)


def recovery_rows(correct, drifts, window, tolerance=0.02):
    found = []
    for start, end in pairwise([*drifts, len(correct)]):
        level = prequential_accuracy(correct[start + (end - start) // 2 : end])
        waits = [
            row - start
            for row in range(start + window, end + 1)
            if prequential_accuracy(correct[row - window : row]) >= level - tolerance
        ]
        found.append(waits[0] if waits and end - start >= 2 * window else float("nan"))
    return found
