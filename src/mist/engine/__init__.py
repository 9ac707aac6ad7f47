"""The compiled core: plain functions on arrays, one part of the method in each file.

Each module imports only modules above it in this table.

=================  ==================================================================
``linking``        compiled code that is only a part of other compiled code
``compiled``       how functions are compiled, and when compiled code is too old
``handle``         a state in memory, passed to compiled code as an address
``records``        structured arrays whose fields are attributes
``arrays``         arrays that grow
``random``         counter-based random numbers
``state``          the arrays that are the tree
``moments``        Welford moments and the Gaussian log density
``leafmodel``      what the engine asks of a leaf model
``capacity``       a new state, and how its arrays grow
``precision``      values of sketches in single precision
``view``           sorted columns of the sketches
``kll``            columnar KLL quantile sketches, one a cell
``levels``         two sketches made one
``joint``          joint inheritance: columns that change with the split column
``inheritance``    what two children get from their parent
``gaussians``      full-covariance Gaussians: moments, factors, log densities
``mixture``        a growing mixture of Gaussians for each cell
``components``     proposals, division and inheritance of mixture components
``reduction``      mixtures joined and reduced to fewer components
``lowrank``        Gaussians whose covariance has low rank plus a diagonal
``lowrank_parts``  such Gaussians cut, weighted, copied and merged
``marginal``       log densities with all constants
``leaves``         the leaf models, one a file, and their registry
``thresholds``     candidate thresholds and the class masses left of them
``criterion``      split gains, confidence radii and the split test
``glance``         attempts to split that cannot succeed, skipped in the loop
``confseq``        a radius that adapts to the variance and holds at all times
``likelihood``     the gain in log likelihood
``conformity``     how rows fit the classes seen so far
``stream``         the loops over rows: route, learn, predict, test-then-train
``single``         one row with one call of compiled code
``passage``        runs a loop and serves what it asks for
``transplant``     leaves copied from one tree to another
``forking``        a tree without the contents of its leaves
``merging``        two trees merged
``betting``        a betting martingale
``trials``         candidate splits that learn before the leaf is split
``growth``         learning with split attempts between the runs of the loop
``inspection``     rules, class masses and bytes of the leaves
=================  ==================================================================

A *cell* is what one leaf knows about one class. Inside the engine, columns are in
*internal order*: numeric columns first, then categorical (0/1) columns. Classes are
*codes*, numbered in the order in which they were first learnt. NaN is a missing value,
and an index of -1 means that there is none.
"""
