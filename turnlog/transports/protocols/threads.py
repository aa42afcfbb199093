"""Conversations that the client names: the same name of the same user is the same session.

The id is made of both, so nobody can name, or find out about, somebody else's.
"""

import uuid

from turnlog.errors import BadInput, NotFound
from turnlog.ports import Backend, Session, User

_OURS = uuid.UUID("6f1c1c1e-5b1d-4f0e-9d52-7475726e6c6f")
MOST_CHARACTERS = 200


async def session_of(backend: Backend, user: User, name: str, agent: str | None) -> Session:
    """The user's session with this id, or the one that they call so; made if there is none."""
    if not 0 < len(name) <= MOST_CHARACTERS:
        raise BadInput(f"A thread's id must have 1 to {MOST_CHARACTERS} characters.")
    made = str(uuid.uuid5(_OURS, f"{len(user.id)}:{user.id}:{name}"))
    for session_id in (name, made):
        try:
            return await backend.store.get_session(user.id, session_id)
        except NotFound:
            continue
    return await backend.create_session(user, agent=agent, session_id=made)
