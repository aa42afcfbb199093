"""What every store promises, as tests that anybody can inherit.

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def opened(self, tmp_path):
            ...  # a function: each await of it opens one more handle on the same place

        async def dies(self, store):
            ...  # let go of the store as a process does that is killed

The tests are coroutines: run them with pytest-asyncio's `asyncio_mode = "auto"`.
"""

import pytest

# Before the imports, so that a failing assertion in them says what it compared.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{name}"
        for name in (
            "billing",
            "blobs",
            "bus",
            "deposits",
            "files",
            "leases",
            "line",
            "log",
            "outbox",
            "permits",
            "sessions",
            "tasks",
            "tickets",
            "trail",
            "turns",
        )  # fmt: skip
    )
)

from turnlog.testing.contracts.approvals import ApprovalsContract
from turnlog.testing.contracts.base import Contract
from turnlog.testing.contracts.billing import BillingContract
from turnlog.testing.contracts.blobs import BlobsContract
from turnlog.testing.contracts.bus import BusContract
from turnlog.testing.contracts.deposits import DepositsContract
from turnlog.testing.contracts.files import FilesContract
from turnlog.testing.contracts.leases import LeasesContract
from turnlog.testing.contracts.line import LineContract
from turnlog.testing.contracts.log import EventLogContract
from turnlog.testing.contracts.outbox import OutboxContract
from turnlog.testing.contracts.sessions import AuditContract, SessionsContract
from turnlog.testing.contracts.tasks import TasksContract
from turnlog.testing.contracts.tickets import TicketsContract
from turnlog.testing.contracts.trail import TrailContract
from turnlog.testing.contracts.turns import TurnsContract


class StoreContract(
    EventLogContract,
    SessionsContract,
    TurnsContract,
    LeasesContract,
    LineContract,
    ApprovalsContract,
    TicketsContract,
    OutboxContract,
    AuditContract,
    TrailContract,
    BillingContract,
    FilesContract,
    DepositsContract,
):
    """All that a Store promises."""


__all__ = ["BlobsContract", "BusContract", "Contract", "StoreContract", "TasksContract"]
