"""Every document is frozen, strict, closed, finite; every fact is free of free text."""

import importlib
import inspect
import pkgutil
import typing

import pytest
from pydantic import BaseModel, ValidationError

import fairtrial
from fairtrial.schema import facts
from fairtrial.schema.base import Record


def records():
    for module in pkgutil.walk_packages(fairtrial.__path__, "fairtrial."):
        # the engine's request bodies come from outside: OpenAI's shapes, checked in its own tests
        if module.name.endswith(("__main__", "engine.api_schema")):
            continue
        for _, thing in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(thing, BaseModel) and thing is not BaseModel and thing.__module__ == module.name:
                yield thing


ALL = sorted(set(records()), key=lambda model: (model.__module__, model.__name__))


@pytest.mark.parametrize("model", ALL, ids=lambda m: f"{m.__module__}.{m.__name__}")
def test_every_model_is_a_strict_frozen_record(model):
    assert issubclass(model, Record), "documents derive from Record"
    config = model.model_config
    assert config["frozen"]
    assert config["strict"]
    assert config["extra"] == "forbid"
    assert config["allow_inf_nan"] is False


@pytest.mark.parametrize("model", ALL, ids=lambda m: f"{m.__module__}.{m.__name__}")
def test_unknown_keys_and_wrong_types_are_refused(model):
    with pytest.raises(ValidationError):
        model.model_validate({"no_such_key": 1})


def free_text(schema, definitions, path="$"):
    """JSON Schema places where any string at all would be allowed."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from free_text(definitions[name], definitions, f"{path}<{name}>")
        return
    for option in schema.get("anyOf", []) + schema.get("oneOf", []):
        yield from free_text(option, definitions, path)
    if schema.get("type") == "string" and not {"pattern", "enum", "const"} & schema.keys():
        yield path
    for key, inner in schema.get("properties", {}).items():
        yield from free_text(inner, definitions, f"{path}.{key}")
    if isinstance(schema.get("items"), dict):
        yield from free_text(schema["items"], definitions, f"{path}[]")


def test_no_fact_holds_free_text():
    """The journal is published unredacted: only ids, enumerations, integers and digests."""
    kinds = typing.get_args(typing.get_args(facts.Fact)[0])
    assert len(kinds) >= 20
    for kind in kinds:
        schema = kind.model_json_schema()
        assert not list(free_text(schema, schema.get("$defs", {}))), kind.__name__


def test_the_check_for_free_text_sees_it():
    class Loose(Record):
        words: str

    schema = Loose.model_json_schema()
    assert list(free_text(schema, {})) == ["$.words"]


def test_integers_beyond_two_to_the_53_are_refused():
    kind = facts.LaunchStarted
    kind.model_validate({"launch": "x", "pid": 2**53 - 1, "started_ticks": 0})
    with pytest.raises(ValidationError):
        kind.model_validate({"launch": "x", "pid": 2**53, "started_ticks": 0})
