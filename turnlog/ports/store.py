"""Where it stays: one adapter that has every face in `storage/`."""

from typing import Protocol

from turnlog.events.rows.seal import Seals
from turnlog.ports.files import FileTable
from turnlog.ports.storage.approvals import Approvals
from turnlog.ports.storage.audit import Audit, AuditTrail
from turnlog.ports.storage.billing import Billing
from turnlog.ports.storage.citations import Citations
from turnlog.ports.storage.deposits import Deposits
from turnlog.ports.storage.line import Line
from turnlog.ports.storage.log import EventLog
from turnlog.ports.storage.outbox import Outbox
from turnlog.ports.storage.sessions import Sessions
from turnlog.ports.storage.tickets import Tickets
from turnlog.ports.storage.turns import Turns


class Store(EventLog, Sessions, Turns, Approvals, Tickets, Audit, Billing, Citations, Protocol):
    """A place that keeps all of it."""

    @property
    def url(self) -> str:
        """Where it is, without secrets: sqlite:FOLDER, memory:"""
        ...

    seals: Seals  # how rows of the log are sealed

    @property
    def outbox(self) -> Outbox:
        """What others are told over webhooks."""
        ...

    @property
    def line(self) -> Line:
        """Questions that wait for their session."""
        ...

    @property
    def audit(self) -> AuditTrail: ...

    @property
    def files(self) -> FileTable:
        """What is known of users' files. Their bytes are elsewhere: see ports/files.py."""
        ...

    @property
    def deposits(self) -> Deposits:
        """Which parts of files rest with the model's provider."""
        ...

    async def open(self, *, server: str | None = None) -> None:
        """Make the place ready. `server`: the address of a server, which runs turns here.

        Raises StoreUnusable where that cannot be, and StoreTaken where another server works in
        a place that has room for one.
        """
        ...

    async def close(self) -> None: ...
