"""The theorems of the paper put to the test."""
