"""Following streams that change, without forgetting what is absent.

From bottom to top: `recent_gaussians` holds what each class looked like in its last rows;
`label_memory` what labels came lately; `next_label` combines them with the tree's probabilities
into a prediction for the next row of the stream; `moved_classes` tells when a class is no longer
where it was learnt; `common_shift` finds a shift that all classes share; `changes` records what
was found; `watch` looks for both in rows that a tree has learnt; `follower` runs all of it next to
a tree.

Everything here is class-local: a class that does not arrive changes in nothing.
"""
