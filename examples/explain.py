# %% [markdown]
# # Why did the tree answer so?
#
# A tree on the wine data, which has thirteen measurements of three kinds of wine. The tree is
# made to split, so that there is something to see; with its default settings it would stay one
# leaf on so few rows.

# %%
import matplotlib.pyplot as plt

from mist import MistClassifier, SplitTest
from mist.datasets import load_toy
from mist.inspection import plot_tree

data = load_toy("wine")
model = MistClassifier(
    "gaussian", split_test=SplitTest("schedule", rows_per_split=60), grace_period=20
)
model.learn_many(dict(zip(data.feature_names, data.X.T, strict=True)), data.y)
print(model.n_leaves_, "leaves")

# %%
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
plot_tree(model, ax=axes)
plt.show()

# %% [markdown]
# One row: the way to its leaf, what the leaf knows, and how much each value speaks for the answer
# against the second best, in nats.

# %%
row = dict(zip(data.feature_names, data.X[0].tolist(), strict=True))
why = model.explain(row)
print(why)

# %%
why.plot()
plt.show()

# %% [markdown]
# Leave values out, and see the answer lean on the others:

# %%
for name in ("proline", "flavanoids"):
    row.pop(name)
answer = model.explain(row)
print(answer.prediction, {label: round(share, 3) for label, share in answer.probabilities.items()})
