"""Slow and obvious twins of the metrics: plain loops over lists."""

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
