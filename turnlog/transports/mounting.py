"""turnlog inside of another ASGI application: where it is mounted, and whether it was opened."""

from starlette.types import Receive, Scope, Send

from turnlog.transports import problem


def route_path(scope: Scope) -> str:
    """The path below the place where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    if root and (path == root or path.startswith(f"{root}/")):
        return path.removeprefix(root) or "/"
    return path


async def refuse_unopened(scope: Scope, receive: Receive, send: Send) -> None:
    """For a host that has mounted the application and has not opened it."""
    detail = "turnlog is mounted and not open. Give its host `lifespan=app.lifespan`."
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1011, "reason": detail})
        return
    await problem.response(503, "Not open", detail, "not_open")(scope, receive, send)
