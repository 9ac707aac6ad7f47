"""What the tests of a server share: services, applications and models as bytes."""

import pytest

from mist import MistClassifier
from mist.persistence import save
from mist.preprocessing import StreamPipeline
from mist.serving.learner import Learner
from mist.serving.limits import Limits
from mist.serving.options import LearnerOptions, ServiceOptions
from mist.serving.served_model import ServedModel
from mist.serving.service import Service

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


def empty_pipeline():
    return StreamPipeline(model=MistClassifier.paper("G"))


def make_service(model=None, **options):
    given = ServiceOptions(**options)
    return Service(ServedModel(model or empty_pipeline(), given.limits), given)


def make_client(model=None, *, limits=None, token="", read_only=False, **options):
    """A client of an application in this process, without files."""
    testclient = pytest.importorskip("starlette.testclient", reason="needs the extra serve")
    pytest.importorskip("httpx", reason="the test client needs httpx")
    from mist.serving.app import make_app

    service = make_service(model, limits=limits or Limits(), **options)
    app = make_app(Learner(service, LearnerOptions()), token=token, read_only=read_only)
    client = testclient.TestClient(app)
    client.service = service
    return client


def bytes_of(model, folder):
    """A model as its file, which is the same for equal models."""
    path = folder / "model.mist"
    save(model, path)
    return path.read_bytes()
