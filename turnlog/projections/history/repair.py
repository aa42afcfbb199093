"""Mends a history rule by rule, in the order of the table, until the API would take it.

A fix changes what breaks its rule and nothing else; what was right before is the same after.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

import msgspec

from turnlog.projections.history.fixes import files, shape, thoughts, tools
from turnlog.projections.history.lint import RULES, Finding, lint
from turnlog.projections.history.request import Json, Request

MOST_ROUNDS = 12  # a fix may break a rule above it; four rounds are the most that was ever seen


class Repaired(NamedTuple):
    """A history that the API takes, what was found in it, and what could not be mended."""

    body: Json
    found: list[Finding]
    left: list[Finding]


def repair(request: Request, without: Collection[str] = ()) -> Repaired:
    """The history with every broken rule mended; the very same one where there is none."""
    found = left = lint(request, without)
    before: list[Finding] = []
    for _ in range(MOST_ROUNDS):
        if left == before:  # nothing, or nothing more that can be mended
            break
        request, before = _mended(request, without), left
        left = lint(request, without)
    return Repaired(request.body, found, left)


def _mended(request: Request, without: Collection[str]) -> Request:
    for name, fix in FIXES.items():
        if name not in without and any(True for _ in RULES[name].check(request)):
            body = fix(request)
            size = len(msgspec.json.encode(body)) if request.size else 0
            request = replace(request, body=body, size=size)
    return request


# fmt: off
FIXES: dict[str, Callable[[Request], Json]] = {
    "messages-are-whole":          shape.drop_broken_messages,
    "roles-are-known":             shape.rename_roles,
    "blocks-are-whole":            shape.mend_blocks,
    "blocks-are-known":            shape.drop_unknown_blocks,
    "blocks-fit-their-role":       shape.split_by_role,
    "fields-are-known":            shape.drop_unknown_fields,
    "system-says-something":       shape.drop_blank_prompts,
    "images-are-small":            files.leave_out_bad_images,
    "images-are-few":              files.leave_out_first_images,
    "request-is-small":            files.leave_out_large_files,
    "calls-have-input":            tools.give_input,
    "tool-names-are-plain":        tools.make_names_plain,
    "tool-names-are-unique":       tools.make_names_unique,
    "tool-ids-are-plain":          tools.make_ids_plain,
    "text-is-not-blank":           shape.drop_blank_text,
    "thoughts-are-signed":         thoughts.drop_unsigned,
    "server-tools-are-whole":      tools.drop_half_server_tools,
    "thoughts-are-followed":       thoughts.drop_unfollowed,
    "content-is-there":            shape.drop_empty_messages,
    "roles-take-turns":            shape.join_neighbors,
    "tool-ids-are-unique":         tools.make_ids_unique,
    "calls-are-answered":          tools.answer_calls,
    "results-answer-a-call":       tools.drop_orphans,
    "results-are-single":          tools.drop_repeated_results,
    "results-come-first":          tools.put_results_first,
    "failed-results-are-text":     tools.keep_text_of_failures,
    "first-is-user":               shape.add_beginning,
    "messages-are-there":          shape.add_beginning,
    "thoughts-open-the-tool-loop": thoughts.lead_with_thought,
    "thoughts-need-thinking":      thoughts.drop_unwanted,
    "prefill-is-taken":            thoughts.ask_to_go_on,
    "prefill-ends-without-space":  thoughts.cut_trailing_space,
    "documents-cite-or-none":      files.cite_all_or_none,
    "cache-marks-fit":             files.unmark_thoughts,
    "cache-marks-are-few":         files.unmark_first,
    "cache-hours-come-first":      files.shorten_hours,
}
# fmt: on
