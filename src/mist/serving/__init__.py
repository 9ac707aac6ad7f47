"""A model behind HTTP: it predicts while it learns, and starts again where it was.

The modules that need the extra ``serve`` import it inside functions. From bottom to top:

- `mist.serving.limits`: what a request may hold, and the error of one that is refused
- `mist.serving.bodies`: requests as rows, labels and ids
- `mist.serving.journal`: the write-ahead log
- `mist.serving.options`: options and their defaults
- `mist.serving.folder`: versions, log and lock of one server
- `mist.serving.served_model`: models of several kinds, with rows by column name
- `mist.serving.service`: what a call does to model, waiting rows and figures, without HTTP
- `mist.serving.event_log`, `mist.serving.notifier`: where events and alarms go
- `mist.serving.learner`: the thread that logs and learns, several calls at a time
- `mist.serving.start`, `mist.serving.warming`: what a server continues from, and compiling before
- `mist.serving.metrics`, `mist.serving.page`, `mist.serving.openapi`: what can be read of it
- `mist.serving.app`, `mist.serving.http_server`: the routes, and what runs them
"""
