"""The routes of a server, as an ASGI application."""

from __future__ import annotations

import asyncio
import hashlib
import json
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from mist.serving import bodies, openapi
from mist.serving.access import is_allowed
from mist.serving.learner import Learner
from mist.serving.limits import Refused
from mist.serving.metrics import Metrics
from mist.serving.page import POLICY, framed, live_page
from mist.serving.reports import explanation_report, model_report, page_report, problems_of
from mist.serving.served_model import Prediction
from mist.serving.service import shares_to_keep

__all__ = ["make_app"]

_THREADS = 4
_LARGE = 1 << 16
"""Bytes of a body above which it is read in a thread, as that takes long."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _App:
    """The handlers, with what they share."""

    def __init__(self, learner: Learner, token: str, read_only: bool, title: str) -> None:
        self.learner = learner
        self.service = learner.service
        self.limits = learner.service.options.limits
        self.metrics = Metrics(learner)
        self.pool = ThreadPoolExecutor(_THREADS, "mist-predict")
        self._token = token
        self._read_only = read_only
        self._title = title
        self._held = 0  # bytes of the bodies of all requests; only the loop changes it

    def handled(self, handler: Callable[[Request], Awaitable[Response]]) -> Any:
        """Wrap a handler: access, errors as JSON, counters."""

        async def handle(request: Request) -> Response:
            start = perf_counter()
            request.state.held = 0
            try:
                response = await self._answer(handler, request)
            except ClientDisconnect:
                response = _json({"error": "the client has gone away"}, 400)
            except Exception as error:
                traceback.print_exc()
                response = _json({"error": f"a fault of the server: {type(error).__name__}"}, 500)
            finally:
                self._held -= request.state.held
            route = request.scope["path"]
            self.metrics.requests.labels(route, str(response.status_code)).inc()
            self.metrics.seconds.labels(route).observe(perf_counter() - start)
            response.headers.update(_HEADERS)
            return response

        return handle

    async def _answer(
        self, handler: Callable[[Request], Awaitable[Response]], request: Request
    ) -> Response:
        if self._token and not is_allowed(request.headers.get("authorization", ""), self._token):
            text = "give the token of this server: Authorization: Bearer TOKEN"
            headers = {"WWW-Authenticate": 'Basic realm="mist", charset="UTF-8"'}
            return _json({"error": text}, 401, headers)
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await handler(request)
        except Refused as refused:
            headers = {"Retry-After": "1"} if refused.status in (429, 503) else {}
            return _json(refused.content(), refused.status, headers)
        except TimeoutError:
            text = (
                f"not done within {self.limits.seconds:g} s. It is not known whether rows were "
                "learnt: send the call again with the same Idempotency-Key"
            )
            return _json({"error": text}, 503)

    # --- bodies ----------------------------------------------------------------------------------

    async def _body(self, request: Request) -> bytes:
        """Read a body within the limits."""
        limit = self.limits.body_bytes
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.seconds / 2):
                async for part in request.stream():
                    size += len(part)
                    if size > limit:
                        raise Refused(f"the body is larger than {limit:,} bytes", 413)
                    self._hold(request, len(part))
                    parts.append(part)
        except TimeoutError:
            raise Refused("the body did not come in time", 408) from None
        return b"".join(parts)

    def _hold(self, request: Request, size: int) -> None:
        """Count bytes of a body that are in memory until the request is answered."""
        others = self._held - request.state.held
        # A single large body is always taken.
        if others and self._held + size > self.limits.waiting_bytes:
            raise Refused("too many large bodies wait to be answered: send it again later", 429)
        self._held += size
        request.state.held += size

    async def _read(self, request: Request, reader: Callable[..., Any]) -> tuple[Any, bytes]:
        """Read a body and make a call of it."""
        body = await self._body(request)
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if len(body) < _LARGE:
            return reader(media, body, self.limits), body
        return await self._in_thread(reader, media, body, self.limits), body

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)

    async def _do(self, call: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Let the learner do a call that came from a body."""
        if self._read_only:
            raise Refused("this server does not learn: it was started with --read-only", 403)
        future: Future[dict[str, Any]] = self.learner.submit(call, len(body))
        return await asyncio.wrap_future(future)

    def _keyed(self, request: Request, body: bytes) -> dict[str, Any]:
        """Idempotency key of a call, with what tells another body apart."""
        key = request.headers.get("idempotency-key")
        if not key:
            return {}
        bodies.checked_text("the header Idempotency-Key", key, self.limits)
        digest = hashlib.sha256(request.scope["path"].encode() + b"\n" + body).hexdigest()[:32]
        return {"key": key, "digest": digest}

    # --- routes ----------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        call, body = await self._read(request, bodies.read_predict)
        predictions = await self._in_thread(self.service.predict, call.rows)
        if call.ids:
            shares = [shares_to_keep(each) for each in predictions]
            todo = {"do": "keep", "ids": call.ids, "rows": call.rows, "shares": shares}
            await self._do(todo, body)
        found = [_prediction(each, call.top) for each in predictions]
        for each, id in zip(found, call.ids, strict=False):
            each["id"] = id
        return _json(found[0] if call.single else {"predictions": found})

    async def learn(self, request: Request) -> Response:
        call, body = await self._read(request, bodies.read_learn)
        todo = {"do": "learn", "rows": call.rows, "labels": call.labels}
        return _json(await self._do({**todo, **self._keyed(request, body)}, body))

    async def label(self, request: Request) -> Response:
        call, body = await self._read(request, bodies.read_label)
        todo = {"do": "label", "ids": call.ids, "labels": call.labels}
        result = await self._do({**todo, **self._keyed(request, body)}, body)
        if result["learnt"] == 0:
            text = "no row waits under this id: it was dropped, labelled before, or never kept"
            return _json({"error": text, **result}, 404)
        return _json(result)

    async def explain(self, request: Request) -> Response:
        call, _ = await self._read(request, bodies.read_explain)
        return _json(await self._in_thread(explanation_report, self.service, call.row, call.top))

    async def model(self, request: Request) -> Response:
        return _json(await self._in_thread(model_report, self.learner))

    async def health(self, request: Request) -> Response:
        problems = problems_of(self.learner)
        return _json({"healthy": not problems, "problems": problems}, 503 if problems else 200)

    async def events(self, request: Request) -> Response:
        with self.service.lock:
            events = list(self.service.watch.recent_events)
        return _json({"events": events})

    async def figures(self, request: Request) -> Response:
        text = await self._in_thread(self.metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def page(self, request: Request) -> Response:
        report = await self._in_thread(page_report, self.learner, self._title)
        return HTMLResponse(live_page(report))

    async def docs(self, request: Request) -> Response:
        return HTMLResponse(framed("Requests to this server", openapi.page()))

    async def schema(self, request: Request) -> Response:
        return _json(openapi.document(self.limits, bool(self._token)))


def make_app(
    learner: Learner, *, token: str = "", read_only: bool = False, title: str = "MIST"
) -> Starlette:
    """Make the application.

    Parameters
    ----------
    learner : Learner
        The learner; it is started with the application and stopped with it.
    token : str, default=""
        Token that every request needs; empty for none.
    read_only : bool, default=False
        Whether to refuse calls that learn or keep rows.
    title : str, default="MIST"
        Title of the live page.

    Returns
    -------
    Starlette
        An ASGI application.
    """
    app = _App(learner, token, read_only, title)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        learner.start()
        yield
        await asyncio.get_running_loop().run_in_executor(None, learner.stop)
        app.pool.shutdown()

    posts = {
        "/predict": app.predict,
        "/learn": app.learn,
        "/label": app.label,
        "/explain": app.explain,
    }
    gets = {
        "/": app.page,
        "/docs": app.docs,
        "/openapi.json": app.schema,
        "/model": app.model,
        "/health": app.health,
        "/events": app.events,
        "/metrics": app.figures,
    }
    routes = [Route(path, app.handled(each), methods=["POST"]) for path, each in posts.items()]
    routes += [Route(path, app.handled(each), methods=["GET"]) for path, each in gets.items()]
    return Starlette(
        routes=routes,
        lifespan=running,
        exception_handlers={HTTPException: _http_error},
    )


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = f"{request.method} {request.scope['path']}: {error.detail}; GET /docs lists all requests"
    return _json({"error": text}, error.status_code, dict(error.headers or {}))


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # Escaped, so that any text of a client can be in it.
    body = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Response(body, status, headers, media_type="application/json")


def _prediction(prediction: Prediction, top: int) -> dict[str, Any]:
    shares = sorted(prediction.shares.items(), key=lambda pair: -pair[1])[:top]
    return {
        "label": prediction.label,
        "probability": prediction.shares.get(prediction.label),
        "classes": [{"label": label, "probability": share} for label, share in shares],
    }
