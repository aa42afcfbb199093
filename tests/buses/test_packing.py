"""Signals as bytes: nodes of two versions understand each other during a rolling upgrade."""

import msgspec
import pytest

from turnlog.buses.packing import pack_signal, unpack_signal
from turnlog.ports import Decided, Stop
from turnlog.testing import samples as s

GO = Decided("t", s.decision("a"))


@pytest.mark.parametrize("signal", ["wake", "stop", Stop("t"), GO])
def test_a_signal_is_read_as_it_was_given(signal):
    assert unpack_signal(pack_signal("n", "s", signal)) == ("n", "s", signal)


@pytest.mark.parametrize("signal", ["wake", "stop", GO])
def test_an_older_node_is_understood(signal):
    """Before stops named their turn, a signal was encoded as it is."""
    assert unpack_signal(msgspec.json.encode(("n", "s", signal)))[2] == signal


def test_an_older_node_reads_our_decisions():
    older = msgspec.json.Decoder(tuple[str, str, Decided]).decode
    assert older(pack_signal("n", "s", GO))[2] == GO
