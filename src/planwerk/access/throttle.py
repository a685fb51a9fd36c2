"""Slowing down who guesses passwords, without shutting anybody out for good (S5.4).

Three counters watch each attempt, and the longest wait among them counts:

- login at one address: five free attempts, then waits that double up to five minutes;
- address, whatever login: twenty free, then the same. An attacker's own successful sign-ins do not reset it;
- login, from wherever: fifty free, then never more than thirty seconds. An address at which this login succeeded in
  the last thirty days is exempt, so that strangers who hammer a login cannot keep its person out.

An attempt is counted before the password is looked at, so a hundred sent at once do not all slip through; a success
takes it back. Counters are forgotten after a quiet while. They live in this process: a restart forgives, a second
process counts for itself.
"""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from planwerk.access.errors import TooManyAttempts

Watched: TypeAlias = tuple[str, str, str]

FORGET_AFTER: Final = timedelta(minutes=30)
TRUST_FOR: Final = timedelta(days=30)
MOST_COUNTERS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Limit:
    free: int
    longest_wait: timedelta

    def wait(self, failures: int) -> timedelta:
        if failures < self.free:
            return timedelta(0)
        return min(self.longest_wait, timedelta(seconds=2 ** min(failures - self.free, 20)))


_LIMITS: Final = {
    "pair": _Limit(5, timedelta(minutes=5)),
    "address": _Limit(20, timedelta(minutes=5)),
    "login": _Limit(50, timedelta(seconds=30)),
}


@dataclass(slots=True)
class _Counter:
    failures: int
    last: datetime


class SignInThrottle:
    """Counts failed sign-ins by login and address, bounded in memory."""

    def __init__(self, *, most_counters: int = MOST_COUNTERS) -> None:
        self._counters: OrderedDict[Watched, _Counter] = OrderedDict()
        self._trusted: OrderedDict[Watched, datetime] = OrderedDict()
        self._most = most_counters

    def __len__(self) -> int:
        return len(self._counters) + len(self._trusted)

    def begin(self, login: str, address: str, now: datetime) -> None:
        """Count an attempt that is about to be made.

        Raises:
            TooManyAttempts: Too soon after too many; this attempt is not counted, so waiting always helps.
        """
        watched = pair, address_only, login_only = _watched(login, address)
        counted = (pair, address_only) if self._trusts(pair, now) else (pair, address_only, login_only)
        wait = max(self._wait(key, now) for key in counted)
        if wait > timedelta(0):
            raise TooManyAttempts(math.ceil(wait.total_seconds()))
        for key in watched:
            counter = self._counters.setdefault(key, _Counter(0, now))
            counter.failures, counter.last = counter.failures + 1, now
            self._counters.move_to_end(key)
        _shorten(self._counters, self._most)

    def succeeded(self, login: str, address: str, now: datetime) -> None:
        """Take the attempt back: it was right. Only the count of this login at this address starts anew."""
        pair, *others = _watched(login, address)
        self._counters.pop(pair, None)
        for key in others:
            counter = self._counters.get(key)
            if counter is not None:
                counter.failures -= 1
        self._trusted[pair] = now
        self._trusted.move_to_end(pair)
        _shorten(self._trusted, self._most)

    def _trusts(self, pair: Watched, now: datetime) -> bool:
        trusted_since = self._trusted.get(pair)
        return trusted_since is not None and now - trusted_since < TRUST_FOR

    def _wait(self, key: Watched, now: datetime) -> timedelta:
        counter = self._counters.get(key)
        if counter is None:
            return timedelta(0)
        if now - counter.last >= FORGET_AFTER:
            del self._counters[key]
            return timedelta(0)
        return counter.last + _LIMITS[key[0]].wait(counter.failures) - now


def _shorten(entries: OrderedDict[Watched, Any], most: int) -> None:
    """Forget the oldest of too many."""
    while len(entries) > most:
        entries.popitem(last=False)


def _watched(login: str, address: str) -> tuple[Watched, Watched, Watched]:
    network = _network(address)
    return ("pair", login, network), ("address", "", network), ("login", login, "")


def _network(address: str) -> str:
    """The address, or for IPv6 its /64: one subscriber has all of that."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:80]
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, 64), strict=False))
