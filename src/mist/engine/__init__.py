"""The compiled core: plain functions on arrays, one part of the method in each file.

========================  =======================================================
``state``                 the arrays that hold a tree, and how they grow
``arrays``, ``records``   growing arrays and structured arrays
``random``                counter-based random numbers
``stream``                the loops over rows: route, predict, score and learn
``passage``               the driver: runs the loop and serves its requests
``growth``                learning with split attempts between runs of the loop
``single``                one row with one call of compiled code
``leafmodel``             what the engine asks of a leaf predictor
``leaves``                the leaf predictors, one a file
``moments``               Welford moments and the Gaussian log density (MIST-G)
``kll``                   columnar KLL quantile sketches, one for each cell
``precision``             sketches in single precision
``view``                  sorted columns of the sketches, for MIST-K
``levels``                merging two sketches
``gaussians``             full-covariance Gaussians: moments, factors, densities
``mixture``               Gaussian mixtures that grow, row by row
``components``            rare work on mixtures: proposals, division, inheritance
``reduction``             joining mixtures and reducing them to fewer components
``lowrank``               Gaussians with covariances of low rank plus a diagonal
``lowrank_parts``         rare work on these: cutting, copying, merging
``marginal``              log densities with all constants
``conformity``            scores and p-values of an open world
``thresholds``            candidate thresholds and the class masses left of them
``criterion``             split gains, confidence radii and the split test
``confseq``               a radius that adapts to the variance of the gain
``likelihood``            the gain in log likelihood of a split
``glance``                the split screen: a cheap test that a split cannot pass
``trials``, ``betting``   candidate splits that are compared row by row
``inheritance``           what two children get from their parent
``joint``                 inheritance of all numeric columns together
``transplant``            copies of leaves in another tree
``forking``               a copy of a tree with empty leaves, to learn part of the rows
``merging``               adding what another tree has learnt
``inspection``            rules, class masses and bytes of the leaves
``compiled``              how the functions are compiled
``linking``               functions that are compiled for inlining only
``handle``                a state laid out in memory, to be passed as an address
========================  =======================================================

A *cell* is what one leaf knows about one class. Inside the engine, columns are in
*internal order*: numeric columns first, then categorical (0/1) columns. Classes are
*codes*, numbered in the order in which they were first learnt. NaN is a missing value,
and an index of -1 means that there is none.
"""
