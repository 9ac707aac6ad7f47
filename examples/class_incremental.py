# %% [markdown]
# # Classes that arrive one pair after another
#
# Handwritten digits, two at a time, each pair only once. After each pair every model is asked
# about *all* digits so far, on rows it has not learnt. Takes a minute, most of it for compiling.

# %%
import matplotlib.pyplot as plt
import numpy as np

from mist.datasets import load_toy
from mist.evaluation import ClassIncrementalStream, evaluate
from mist_bench.methods import make

data = load_toy("digits")
stream = ClassIncrementalStream(data.X, data.y, classes_per_task=2, seed=42)
print(data.X.shape, "rows and columns,", len(data.class_names), "classes")

# %% [markdown]
# Four models: the default, the paper's MIST-G, a Hoeffding tree (VFDT, here as a setting of the
# same engine), and SLDA, one linear discriminant. `make` of the package
# mist-tree-bench knows them by name.

# %%
results = {name: evaluate(make(name), stream) for name in ("mist", "mist-g", "vfdt", "slda")}
print("model    next row   all classes at the end   forgetting")
for name, result in results.items():
    print(
        f"{name:8} {result.prequential_accuracy:8.2f} {result.final_accuracy:15.2f}"
        f" {result.average_forgetting:20.2f}"
    )

# %% [markdown]
# The score on the next row hardly tells them apart, as it asks about the two digits that are
# arriving. The accuracy over all digits so far does:

# %%
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for (name, result), style in zip(results.items(), ["-o", "--s", ":^", "-.d"], strict=True):
    seen = [np.nanmean(row) for row in result.accuracy_matrix]
    axes.plot(2 * np.arange(1, len(seen) + 1), seen, style, label=name)
axes.set(xlabel="digits that have arrived", ylabel="accuracy on all of them", ylim=(0, 1.03))
axes.legend(frameon=False)
axes.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Which pair was forgotten? Row *i* of the matrix was measured after pair *i*, column *j* is the
# accuracy on pair *j*. A column that falls from top to bottom has been forgotten.

# %%
for name in ("mist", "vfdt"):
    print(name)
    print(results[name].accuracy_matrix.round(2))

# %% [markdown]
# In your own loop nothing has to be announced:

# %%
model = make("mist")
for first in range(0, 10, 2):
    rows = np.isin(data.y, [first, first + 1])
    model.partial_fit(data.X[rows], data.y[rows])
    print(model.classes_, f"{model.nbytes / 1e6:.1f} MB")
