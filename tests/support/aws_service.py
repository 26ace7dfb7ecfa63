"""AWS's own description of the Bedrock service, as botocore has it: whether a request's body keeps to it."""

from __future__ import annotations

import functools

import pytest

_BLOBS = {"bytes", "redactedContent"}


@functools.cache
def _shape(operation):
    loaders = pytest.importorskip("botocore.loaders", reason="the development group is missing: pip install botocore")
    model = pytest.importorskip("botocore.model")
    description = loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return model.ServiceModel(description, "bedrock-runtime").operation_model(operation).input_shape


def complaints_about(body, operation="ConverseStream"):
    """What the description says against a body; "" if nothing."""
    validate = pytest.importorskip("botocore.validate")
    report = validate.ParamValidator().validate({"modelId": "m", **_with_blobs(body)}, _shape(operation))
    return report.generate_report()


def _with_blobs(value, name=""):
    if isinstance(value, dict):
        return {key: _with_blobs(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_blobs(item) for item in value]
    return value.encode() if name in _BLOBS and isinstance(value, str) else value
