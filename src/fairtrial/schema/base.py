"""The base of every document: frozen, strict, no unknown keys, no NaN, no infinity."""

from pydantic import BaseModel, ConfigDict

from fairtrial.schema.types import STRICT


class Record(BaseModel):
    """Base of every document and of its parts."""

    model_config = ConfigDict(
        **STRICT,  # type: ignore[typeddict-item]  # the plain records' own settings
        frozen=True,
        populate_by_name=True,
        serialize_by_alias=True,
    )
