"""Test-then-train of several models on one stream: measured, written to files, and continued.

`mist run` calls these modules. From bottom to top:

- `mist.streaming.runs.history`, `mist.streaming.runs.class_history`,
  `mist.streaming.runs.column_history`, `mist.streaming.runs.sureness`: counts in bounded memory
- `mist.streaming.runs.counts`, `mist.streaming.runs.records`: all counts of a run, and what a
  report takes from them
- `mist.streaming.runs.prequential_run`: one model, chunk by chunk
- `mist.streaming.runs.session`: several models on the same rows
- `mist.streaming.runs.appended`, `mist.streaming.runs.predictions`, `mist.streaming.runs.events`:
  files that grow
- `mist.streaming.runs.checkpoint`: everything of a run in one file, from which it continues
"""
