"""Refusals and failures as clients of OpenAI-compatible servers expect them."""

import orjson


class ApiError(Exception):
    """A request that gets an error instead of an answer.

    Args:
        status: HTTP status.
        message: What is wrong, for a person.
        kind: Class of the error, e.g. ``BadRequestError``.
        param: Name of the field that is wrong, if it is one.
    """

    def __init__(self, status: int, message: str, kind: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param

    def body(self) -> bytes:
        """The error as JSON."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}
        return orjson.dumps({"error": error})


def bad_request(message: str, param: str | None) -> ApiError:
    """A well-formed request that can't be served as it is."""
    return ApiError(400, message, "BadRequestError", param)
