"""Refusals of a request: Business Central's codes, with their status and their messages."""

from typing import Any, NoReturn

# fmt: off
STATUS = {
    "BadRequest":                           400,
    "BadRequest_InvalidToken":              400,
    "BadRequest_InvalidOperation":          400,
    "BadRequest_RequiredParamNotProvided":  400,
    "Application_DialogException":          400,
    "Application_FieldValidationException": 400,
    "Application_StringExceededLength":     400,
    "Application_InvalidGUID":              400,
    "Application_EvaluateException":        400,
    "Internal_InvalidTableRelation":        400,
    "Internal_EntityWithSameKeyExists":     400,
    "Unknown":                              400,
    "Authentication_InvalidCredentials":    401,
    "BadRequest_ResourceNotFound":          404,
    "BadRequest_NotFound":                  404,
    "Internal_RecordNotFound":              404,
    "BadRequest_MethodNotAllowed":          405,
    "Request_EntityChanged":                409,
    "Application_TooManyRequests":          429,
    "Internal_ServerError":                 500,
    "Internal_ServiceUnavailable":          503,
}
# fmt: on


class Refused(Exception):
    """The API refuses this request."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, STATUS[code]


def refuse(code: str, message: str) -> NoReturn:
    raise Refused(code, message)


def dialog(message: str) -> NoReturn:
    """Refuse as AL's `Error()` does: with a sentence of the application for its user."""
    refuse("Application_DialogException", message)


def body(code: str, message: str, correlation: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": f"{message}  CorrelationId:  {correlation}."}}
