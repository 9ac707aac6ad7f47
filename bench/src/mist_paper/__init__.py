"""The paper's tables, figures and theorems, run again."""
