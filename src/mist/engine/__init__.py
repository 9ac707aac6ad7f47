"""The compiled core: plain functions on arrays, one part of the method in each file.

Each module imports only modules above it in this table.

=================  ===========================================================
A *cell* is what one leaf knows about one class. Inside the engine, columns are in
*internal order*: numeric columns first, then categorical (0/1) columns. Classes are
*codes*, numbered in the order in which they were first learnt. NaN is a missing value,
and an index of -1 means that there is none.
"""
