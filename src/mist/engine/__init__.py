"""The compiled core: plain functions on arrays, one part of the method in each file.

Each module imports only modules above it in this table.

======================  =============================================================
``compiled_sources``    when compiled code on disk is outdated
``ready_code``          compiled code that comes with the package
``numba_internals``     all that is used of Numba beyond its public interface
``numba_access``        whether it is used: it is tried, else the engine does without
``compilations``        when functions are compiled, for the log and for commands
``compiled``            how functions are compiled, and saved on disk
``handle``              a state in memory, passed to compiled code as an address
``records``             structured arrays whose fields are attributes
``arrays``              arrays that grow
``random``              counter-based random numbers
``state``               the arrays that hold a tree
``budget``              a limit on the bytes of a tree
``moments``             Welford moments and the Gaussian log density
``leafmodel``           what the engine asks of a leaf model
``capacity``            a new state, and how its arrays grow
``indicators``          0/1 columns that come late and were 0 in earlier rows
``precision``           values of sketches in single precision
``sorted_columns``      sorted columns of the sketches
``kll``                 columnar KLL quantile sketches, one per cell
``kll_merge``           two sketches merged
``joint``               joint inheritance: columns that change with the split column
``inheritance``         what the two children of a split get from their parent
``gaussians``           full-covariance Gaussians: moments, factors, log densities
``gaussian_mixtures``   a growing mixture of Gaussians for each cell
``eigenvectors``        eigenvectors of a small symmetric matrix
``mixture_pairs``       pairs of Gaussians that might replace a component
``mixture_trials``      trials begun, and components divided by their winners
``mixture_upkeep``      arrays, inheritance and merging of mixture components
``reduction``           mixtures joined and reduced to fewer components
``nearest_components``  nearest components joined, to give back memory
``low_rank_gaussians``  Gaussians whose covariance has low rank plus a diagonal
``low_rank_upkeep``     such Gaussians cut, weighted, copied and merged
``marginal``            log densities with all constants
``leaves``              the leaf models, one per file, and their list
``thresholds``          candidate thresholds and the class masses left of them
``criterion``           split gains, confidence radii and the split test
``split_screen``        a cheap test in the loop that a split cannot pass
``confseq``             a radius that adapts to the variance and holds at all times
``likelihood``          the gain in log likelihood
``class_memory``        cells of each class, grown from its own rows
``class_memory_upkeep`` class memories copied, merged, widened, freed of a class
``class_memory_budget`` cells joined, to keep a limit on bytes
``replayed_rows``       rows drawn from class memories
``replay_trees``        trees grown on replayed rows
``conformity``          how rows fit the classes seen so far
``row_loops``           the loops over rows: route, learn, predict, test-then-train
``single_row``          one row with one call of compiled code
``forget``              a class removed from all leaves
``sketch_budget``       which sketches may grow, and which are given up first
``driver``              runs a loop over rows and serves its requests
``leaf_copy``           leaves copied from one tree to another
``fork``                a tree without the contents of its leaves
``merge``               two trees merged
``betting``             a betting martingale
``candidate_splits``    candidate splits that learn before the leaf is split
``growth``              learning with split attempts between the runs of the loop
``cut_back``            a leaf in place of a subtree
``giving_back``         what a tree gives back to stay within its budget
``relabel``             classes joined, dropped, given other codes
``leaf_rules``          rules, class masses and bytes of the leaves
======================  =============================================================

A *cell* is what one leaf knows about one class. Inside the engine, columns are in
*internal order*: numeric columns first, then categorical (0/1) columns. Classes are
*codes*, numbered in the order in which they were first learnt. NaN is a missing value,
and an index of -1 means that there is none.
"""
