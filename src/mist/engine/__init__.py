"""The compiled core: plain functions on arrays, one noun of the method a file.

========================  =======================================================
``state``                 the arrays that are the tree, and how they grow
``random``                counter-based random numbers
``kll``                   columnar KLL quantile sketch, one a cell
``precision``             sketches in single precision
``view``                  sorted columns of the sketches, for MIST-K
``moments``               Welford moments and the Gaussian log density (MIST-G)
``thresholds``            candidate thresholds and the class masses left of them
``criterion``             split gains, confidence radii and the split test
``glance``                attempts to split that must fail, told at a glance
``inheritance``           what two children get from their parent
``stream``                route, learn, predict, test-then-train
``growth``                split attempts: the rare work between compiled runs
``forking``               a tree without what its leaves know, to learn a part of the rows
``merging``               what two trees know, put together
``levels``                two sketches made one
``inspection``            rules, class masses and bytes of the leaves
``compiled``              how the functions are compiled
``linking``               compiled code that is only a part of other compiled code
``handle``                a state laid out in memory, to be passed as an address
``single``                one row with one call of compiled code
========================  =======================================================

A *cell* is what one leaf knows about one class. Inside the engine, columns stand in
*internal order*: numeric columns first, then categorical (0/1) columns; classes are
*codes*, numbered in the order in which they were first learnt.
"""
