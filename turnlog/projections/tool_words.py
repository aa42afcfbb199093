"""What the words of a tool's name say about it, where the tool says nothing itself.

A name is clearly a read if it begins with a word of reading and has no word of writing. Any
other name may write: whoever runs such a tool asks a person first, and never runs it twice.
"""

import re
from typing import NamedTuple

_WRITING = """
    add append apply approve archive assign book cancel change clear close commit complete confirm
    create delete deploy disable drop edit enable erase execute grant import insert install invite
    invoice issue merge modify move order pay post publish purchase put record register reject
    release remove rename replace reset restore revoke save schedule sell send set ship sign store
    submit transfer update upload upsert withdraw write
"""
_READING = """
    browse calculate check compare compute count current describe estimate explain export fetch
    filter find get has inspect is list look lookup peek preview query read resolve retrieve search
    show sum summarize translate validate verify view
"""
VERBS: dict[bool, frozenset[str]] = {
    True: frozenset(_WRITING.split()),
    False: frozenset(_READING.split()),
}
# Words of writing that an answer does not claim, so that `claims` does not look for them.
_ALSO_WRITING = """
    abort accept ack acknowledge activate adjust advance alter amend annul attach authorise
    authorize award ban begin bill block boot broadcast build bump burn buy call capture charge
    checkin checkout claim clean commence compress configure consume convert copy credit
    deactivate debit decline decrement deduct define delist demote deny deprovision dequeue
    destroy detach discard dismiss dispatch dispose donate downgrade duplicate elevate email emit
    empty encrypt enqueue enroll escalate evict exec expire extend fax fill finalize finish fire
    fix flush forget forward free freeze fulfil fulfill fund generate hide hire hold increment
    init initialize initiate inject invalidate invoke join kick kill launch leave link load lock
    log mail make mark message migrate mint mount mutate mute notify nuke obliterate offboard
    onboard open overwrite park patch pause persist place pop prepay process promote propose
    provision prune pull purge push quarantine queue reassign reboot rebuild recall recharge
    reconcile recreate redeem redo refill reformat refresh refund reimburse reindex reinstall
    renew reopen reorder repay reply report request reschedule resend reserve resize respond
    restart resume retire retry return revert rewrite rid rm roll rollback rotate run scale seed
    settle shred shut shutdown skip snooze spawn spend split start stop strike subscribe suspend
    swap switch sync synchronize tag tap terminate text throttle toggle touch track trade train
    transact transmit trash trigger trim truncate turn unassign unblock undo uninstall unlink
    unlock unpublish unregister unset unsubscribe upgrade vacuum vaporize void vote waive wipe
    wire wrap zero zip
"""
# Words of writing that after a read are more often things: get_order is a read. Where they stand
# alone in the middle of a name, or after "and", they may be a second deed.
_THINGS = """
    award bill block book build call claim commit credit debit email empty free fund invoice issue
    link load lock log mail message mount open order patch post process queue record release
    report request return run scale schedule seed ship sign split start store tag tap text track
    trade train vote wire zip
"""
# Words of reading that as often change something: resolve_ticket, verify_user, query_database.
_UNCLEAR = "export query resolve validate verify"
_JOINS = "also and or plus then"
_ANYTHING = "bash cmd eval graphql shell sql"  # whatever the model writes is done
_AWAY = "down in into off onto out over through up"  # check_out, read_into
_STAYS = "find list look search show"  # look_up, find_in_page

_THING = frozenset(_THINGS.split())
_LOOSE = VERBS[True] | frozenset(_ALSO_WRITING.split())
_STRICT = _LOOSE - _THING
_READS = VERBS[False] - frozenset(_UNCLEAR.split())
_DOUBTFUL = frozenset([*_JOINS.split(), *_ANYTHING.split()])
_LONG = tuple(sorted(word for word in _STRICT if len(word) > 5))
_ENDINGS = ("s", "d", "ed", "r", "er", "rs", "ers", "or", "ors", "ing", "ings", "ion", "ions")
_BETWEEN = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_FINER = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Judgement(NamedTuple):
    """Whether a tool writes, None where nobody can tell, and by what that is known."""

    writes: bool | None
    why: str


def words_of(name: str) -> list[str]:
    """The words of a tool's name, in snake_case, kebab-case or camelCase."""
    return [word.lower() for word in _BETWEEN.split(name) if word]


def judge(name: str) -> Judgement:
    """What a tool's name says. It is a read only where nothing speaks against it."""
    words = [word.lower() for word in _FINER.split(name) if word]
    if not name.isascii() or not words:
        return Judgement(None, "its name is not of plain words")
    first, rest = words[0], words[1:]
    if written := _written(words):
        return Judgement(True, f"its name has {written!r}")
    if first not in _READS:
        return Judgement(None, f"{first!r} is not clearly a read")
    if doubt := _doubt(first, rest):
        return Judgement(None, f"its name has {doubt!r}")
    return Judgement(False, f"its name begins with {first!r}")


def _written(words: list[str]) -> str | None:
    """The first word of writing. What may be a thing is one, unless it stands first."""
    if words[0] in _LOOSE:
        return words[0]
    return next((word for word in words[1:] if word in _STRICT or _grown(word)), None)


def _grown(word: str) -> bool:
    """Whether a long word of writing is a part of it: deleteall, autocreate; not deleted."""
    for verb in _LONG:
        if verb in word and word != verb:
            return not any(word in (verb + end, verb[:-1] + end) for end in _ENDINGS)
    return False


def _doubt(first: str, rest: list[str]) -> str | None:
    """What makes a name that begins as a read doubtful."""
    if rest and rest[0] in _AWAY.split() and first not in _STAYS.split():
        return rest[0]
    doubtful = [word for word in rest if word in _DOUBTFUL]
    doubtful += [word for word in rest[1:-1] if word in _THING]
    return doubtful[0] if doubtful else None
