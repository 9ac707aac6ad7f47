# %% [markdown]
# # Texts and numbers in one stream
#
# A stream in which columns come and go, new texts turn up, values are missing and a new class
# begins. Rows come as dictionaries of columns, a batch at a time.

# %%
import numpy as np

from mist import load
from mist.preprocessing import StreamPipeline

rng = np.random.default_rng(3)
CENTRES = {"cat": (4, 25), "dog": (20, 60), "cow": (600, 140), "hen": (2, 40)}
COATS = {"cat": ["short", "long"], "dog": ["short", "wire"], "cow": ["short"], "hen": ["feathers"]}


def batch(n, kinds):
    """n animals: columns by name, and what they are."""
    y = rng.choice(kinds, n)
    weight, height = (np.array([CENTRES[kind][i] for kind in y], float) for i in (0, 1))
    weight *= rng.lognormal(0, 0.3, n)
    height *= rng.lognormal(0, 0.15, n)
    weight[rng.random(n) < 0.1] = np.nan  # not weighed
    coat = np.array([rng.choice(COATS[kind]) for kind in y], object)
    return {"weight": weight, "height": height, "coat": coat}, y


# %% [markdown]
# Test, then train, batch after batch. From batch 4 on there are hens, whose coat no row
# had before.

# %%
model = StreamPipeline()
for number in range(8):
    X, y = batch(250, ["cat", "dog", "cow"] + ["hen"] * (number >= 4))
    if number:
        right = (model.predict_many(X) == y).mean()
        print(f"batch {number}: {right:.2f} right, {len(model.classes_)} classes known before it")
    model.learn_many(X, y)
print(model.encoder_.get_feature_names_out().tolist())

# %% [markdown]
# A single row may lack columns, or have a text nobody has seen:

# %%
print(model.predict_many({"weight": [3.5, 550.0], "coat": ["curly", "short"]}))
print(model.predict_one({"coat": "feathers"}))

# %% [markdown]
# The whole pipeline goes into one file, encoder and model:

# %%
model.save("animals.mist")
again = load("animals.mist")
X, y = batch(500, list(CENTRES))
print(
    (again.predict_many(X) == model.predict_many(X)).all(),
    round(float((again.predict_many(X) == y).mean()), 2),
)
