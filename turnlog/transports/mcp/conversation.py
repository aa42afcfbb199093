"""What can be said to an MCP client while its call is answered: progress, and questions.

Revisions from 2026-07-28 on ask with the result of the call, and the client calls again with the
answers. Older ones are asked in between, on the stream of the call.
"""

from collections.abc import Mapping
from typing import Any

import mcp_types as m
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from turnlog.events.kinds import ApprovalRequested
from turnlog.ports import Decision

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {
            "type": "boolean",
            "title": "Allow it",
            "description": "Whether this may be done now.",
            "default": False,
        },
        "reason": {"type": "string", "title": "Reason", "maxLength": 2000},
    },
    "required": ["approved"],
}


class Conversation:
    """One call of a client."""

    def __init__(self, ctx: Any, params: Any) -> None:
        self._ctx = ctx
        self._progress = 0
        self.name: str = params.name
        self.arguments: dict[str, Any] = params.arguments or {}
        self.state: str | None = params.request_state
        self.answers = _decisions(params.input_responses or {})

    async def report(self, message: str) -> None:
        """Tell what happens, if the client wants to know."""
        self._progress += 1
        await self._ctx.session.report_progress(self._progress, message=message)

    @property
    def can_ask(self) -> bool:
        """Whether there is a person who can be asked, as far as the client says."""
        capabilities = self._ctx.session.client_capabilities
        has_form = capabilities is not None and capabilities.elicitation is not None
        return has_form and (self.asks_with_result or self._ctx.session.can_send_request)

    @property
    def asks_with_result(self) -> bool:
        return self._ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    def questions(self, approvals: list[ApprovalRequested], state: str) -> m.InputRequiredResult:
        """The result of a call that needs answers first."""
        requests: dict[str, Any] = {
            approval.approval_id: m.ElicitRequest(
                params=m.ElicitRequestFormParams(
                    message=approval.description, requested_schema=SCHEMA
                )
            )
            for approval in approvals
        }
        return m.InputRequiredResult(input_requests=requests, request_state=state)

    async def ask(self, approval: ApprovalRequested) -> Decision | None:
        """Ask on the stream of the call. None: the person did not decide."""
        try:
            answer = await self._ctx.session.elicit_form(
                approval.description, SCHEMA, related_request_id=self._ctx.request_id
            )
        except MCPError:  # the client could not ask after all
            return None
        return _decision(answer)

    def result(self, text: str, facts: dict[str, Any], *, failed: bool) -> m.CallToolResult:
        content: list[m.ContentBlock] = [m.TextContent(text=text)]
        return m.CallToolResult(content=content, structured_content=facts, is_error=failed)


def _decisions(answers: Mapping[str, Any]) -> dict[str, Decision]:
    decisions = {name: _decision(answer) for name, answer in answers.items()}
    return {name: decision for name, decision in decisions.items() if decision is not None}


def _decision(answer: Any) -> Decision | None:
    """Only a clear yes allows anything; who goes away without an answer has not decided."""
    action, content = getattr(answer, "action", None), getattr(answer, "content", None) or {}
    if action == "decline":
        return Decision(approved=False)
    if action != "accept" or not isinstance(content.get("approved"), bool):
        return None
    reason = content.get("reason")
    words = reason if isinstance(reason, str) and reason else None
    return Decision(approved=content["approved"], reason=words)
