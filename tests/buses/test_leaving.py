"""Who leaves a session is not looked for among those who sleep."""

import random

import pytest

from turnlog.buses.channels import Channel, Follower
from turnlog.transports import wire

MANY = 1000


class Compared(Follower):
    """Counts how often one is compared with another."""

    __hash__ = Follower.__hash__
    times = 0

    def __eq__(self, other):
        Compared.times += 1
        return self is other


def sleeping(channel, count):
    followers = [Compared(0, -1) for _ in range(count)]
    for bed, follower in enumerate(followers):
        follower.bed = bed
        channel.watchers += 1
        channel.sleeping.append(follower)
    return followers


@pytest.mark.parametrize("order", ["first", "last", "any"])
def test_thousands_leave_a_session_with_a_look_each(order):
    channel = Channel(wire.encode)
    followers = sleeping(channel, MANY)
    awake = Compared(0, -1)
    channel.watchers += 1
    leaving = {
        "first": followers,
        "last": followers[::-1],
        "any": random.Random(7).sample(followers, MANY),
    }[order]
    before = Compared.times
    channel.leave(awake)  # it takes nobody's bed
    for number, one in enumerate(leaving, 1):
        channel.leave(one)
        assert len(channel.sleeping) == channel.watchers == MANY - number
    assert Compared.times - before <= MANY + 1


def test_those_who_stay_are_all_there_and_keep_their_beds():
    channel = Channel(wire.encode)
    followers = sleeping(channel, 50)
    for one in random.Random(7).sample(followers, 50):
        channel.leave(one)
        followers.remove(one)
        assert {*map(id, channel.sleeping)} == {*map(id, followers)}
        assert [each.bed for each in channel.sleeping] == [*range(len(followers))]
