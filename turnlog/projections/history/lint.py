"""The rules of a history as a table: what must hold, how it is checked, what the API says.

The names are stable: they stand in logs and in other people's build scripts. `repair.FIXES`
has a fix under each of them. Shares nothing with the simulated Claude, which plays the API:
the two would be wrong together.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from turnlog.projections.history.checks import files, shape, thoughts, tools
from turnlog.projections.history.request import Found, Request


class Rule(NamedTuple):
    """What must hold; what `repair` does and the API answers (where on record) if it does not."""

    check: Callable[[Request], Found]
    says: str
    fix: str
    api: str = ""
    advice: bool = False  # taken all the same: told, never changed


class Finding(NamedTuple):
    """A broken rule, its place as the API would name it, and what is wrong there."""

    rule: str
    place: str
    problem: str


def lint(request: Request, without: Collection[str] = ()) -> list[Finding]:
    """Every rule that the history breaks. Empty: the API takes it."""
    return [
        Finding(name, place, problem)
        for name, rule in RULES.items()
        if name not in without and not rule.advice
        for place, problem in rule.check(request)
    ]


def advise(request: Request) -> list[Finding]:
    """What the API takes and Anthropic advises against."""
    return [
        Finding(name, place, problem)
        for name, rule in RULES.items()
        if rule.advice
        for place, problem in rule.check(request)
    ]


# In the order in which they are repaired: a fix may rely on it that the rules above it hold.
RULES: dict[str, Rule] = {
    "messages-are-whole": Rule(
        shape.messages_are_whole,
        "A message has a role and content: text, or a list of blocks.",
        "the message is left out",
        "messages.0.content: Field required",
    ),
    "roles-are-known": Rule(
        shape.roles_are_known,
        "Only the user and the assistant speak; what the system says is `system`.",
        "it moves to `system`, or to the user or the assistant",
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
        'parameter, not "system" as an input message role.',
    ),
    "blocks-are-whole": Rule(
        shape.blocks_are_whole,
        "A block is an object with a type and with what its type needs.",
        "text and JSON become text, anything else is left out",
        "messages.0.content.0.type: Field required",
    ),
    "blocks-are-known": Rule(
        shape.blocks_are_known,
        "The type of a block is one that the API knows.",
        "the block is left out",
        "messages.0.content.0: Input tag 'x' found using 'type' does not match any of the "
        "expected tags",
    ),
    "blocks-fit-their-role": Rule(
        shape.blocks_fit_their_role,
        "Calls and thoughts are the assistant's; files and results are the user's.",
        "the block gets a message of its own",
    ),
    "fields-are-known": Rule(
        shape.fields_are_known,
        "Messages, blocks and citations have no fields but those that the API knows.",
        "the field is left out",
        "messages.0.content.0.text.id: Extra inputs are not permitted",
    ),
    "system-says-something": Rule(
        shape.system_says_something,
        "No text of the system prompt is blank.",
        "the block is left out",
        "system.0: text content blocks must be non-empty",
    ),
    "images-are-small": Rule(
        files.images_are_small,
        "An image is JPEG, PNG, GIF or WebP, and 5 MB at most, counted on its base64.",
        "a line of text takes its place",
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum",
    ),
    "images-are-few": Rule(
        files.images_are_few,
        "A request has 600 images at most, 100 for models that read 200,000 tokens.",
        "a line of text takes its place",
        "Too much media: 0 document pages + 102 images > 100",
    ),
    "request-is-small": Rule(
        files.request_is_small,
        "A request has 32 MB at most.",
        "files are left out, oldest first",
        "Request exceeds the maximum size",
    ),
    "calls-have-input": Rule(
        tools.calls_have_input,
        "The input of a call is an object.",
        "it is read as JSON, or emptied",
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "tool-names-are-plain": Rule(
        tools.names_are_plain,
        "The name of a tool has 1 to 128 letters, digits, `_` and `-`.",
        "other characters become `_`",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "tool-names-are-unique": Rule(
        tools.names_are_unique,
        "No two tools have one name.",
        "the later one gets a number, or goes if it is the same",
        "tools: Tool names must be unique.",
    ),
    "tool-ids-are-plain": Rule(
        tools.ids_are_plain,
        "The id of a call has only letters, digits, `_` and `-`.",
        "other characters become `_`, in the result too",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "text-is-not-blank": Rule(
        shape.text_is_not_blank,
        "No text is blank, also when the model itself wrote it.",
        "the text is left out",
        "messages: text content blocks must be non-empty",
    ),
    "thoughts-are-signed": Rule(
        thoughts.are_signed,
        "A thought has its signature; one that was cut before it came has none.",
        "the thought is left out",
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "server-tools-are-whole": Rule(
        tools.server_tools_are_whole,
        "The provider's own tools: a call and its result, or neither, unless the turn is paused.",
        "the half is left out",
        "messages.1.content.0: `web_search` tool use with id `srvtoolu_1` was found without a "
        "corresponding `web_search_tool_result` block",
    ),
    "thoughts-are-followed": Rule(
        thoughts.are_followed,
        "No message of the assistant ends in a thought.",
        "the thought is left out",
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    "content-is-there": Rule(
        shape.content_is_there,
        "No message is empty, except for the assistant's as the last.",
        "the message is left out",
        "messages.1: all messages must have non-empty content except for the optional final "
        "assistant message",
    ),
    "roles-take-turns": Rule(
        shape.roles_take_turns,
        "User and assistant take turns. (The API joins neighbors; some gateways refuse them.)",
        "the two messages become one",
        'messages: roles must alternate between "user" and "assistant", but found multiple '
        '"user" roles in a row',
    ),
    "tool-ids-are-unique": Rule(
        tools.ids_are_unique,
        "No two calls have one id.",
        "the later call and its result get a number",
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "calls-are-answered": Rule(
        tools.calls_are_answered,
        "Every call has its result in the next message.",
        "its result is brought here, or one that says there is none",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the "
        "next message.",
    ),
    "results-answer-a-call": Rule(
        tools.results_answer_a_call,
        "Every result answers a call of the message before.",
        "the result is left out",
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
    ),
    "results-are-single": Rule(
        tools.results_are_single,
        "A call is answered once.",
        "the first one stays",
        "messages.2.content.1: each tool_use must have a single result. Found multiple "
        "`tool_result` blocks with id: toolu_1",
    ),
    "results-come-first": Rule(
        tools.results_come_first,
        "In a message with results, they stand before everything else.",
        "results move to the front",
    ),
    "failed-results-are-text": Rule(
        tools.failed_results_are_text,
        "A result that is an error holds nothing but text.",
        "only the text stays",
        'messages.2.content.0.tool_result: all content must be type "text" if `is_error` is true',
    ),
    "first-is-user": Rule(
        shape.first_is_user,
        "The user speaks first.",
        "a line of the user is put before it",
        'messages: first message must use the "user" role',
    ),
    "messages-are-there": Rule(
        shape.messages_are_there,
        "There is a message.",
        "a line of the user is put there",
        "messages: at least one message is required",
    ),
    "thoughts-open-the-tool-loop": Rule(
        thoughts.open_the_tool_loop,
        "With thinking `enabled`, a turn that is still using tools begins with its thought.",
        "its thought moves to the front, or thinking is disabled",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`text`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
    ),
    "thoughts-need-thinking": Rule(
        thoughts.need_thinking,
        "With thinking `disabled`, the turn that is being answered holds no thoughts.",
        "the thought is left out",
        "messages.1.content.0: When thinking is disabled, an `assistant` message in the final "
        "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your "
        "request.",
    ),
    "prefill-is-taken": Rule(
        thoughts.prefill_is_taken,
        "From 4.6 on (Haiku: 5.5) the last message is the user's.",
        "the user asks to go on",
        "This model does not support assistant message prefill. The conversation must end with "
        "a user message.",
    ),
    "prefill-ends-without-space": Rule(
        thoughts.prefill_ends_without_space,
        "What the assistant is to go on from does not end in white space.",
        "the white space is cut",
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "documents-cite-or-none": Rule(
        files.documents_cite_or_none,
        "All documents can be cited or none, and none where the answer must be JSON.",
        "all can be cited; none where the answer is JSON",
    ),
    "cache-marks-fit": Rule(
        files.marks_fit,
        "A thought cannot be marked for the cache.",
        "the mark is left out",
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    "cache-marks-are-few": Rule(
        files.marks_are_few,
        "There are four cache marks at most.",
        "the last four stay",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "cache-hours-come-first": Rule(
        files.hours_come_first,
        "No cache mark of an hour comes after one of five minutes.",
        "it becomes one of 5 minutes",
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    ),
    "files-come-before-text": Rule(
        files.files_come_before_text,
        "Images and documents stand before the text about them.",
        "nothing: earlier thoughts were signed over what is there",
        advice=True,
    ),
}
