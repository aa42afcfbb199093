"""The engines that a session may name: opened with the server, closed after it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from turnlog.errors import AgentGone, BadInput, ConfigError
from turnlog.ports import Engine, Model

Answerer = Model | Engine
Make = Callable[..., Answerer]


class Engines:
    """By name: those that ship, and those that the app was given."""

    def __init__(
        self,
        default: Answerer | str,
        given: Mapping[str, Answerer],
        known: Mapping[str, Make],
        needs: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    ) -> None:
        """`default` answers where a session names no engine. It is a name, or an engine that takes
        the first name. `needs`: by name, the package that has to be installed, and our extra that
        brings it.
        """
        self._known = known
        self._needs = needs
        self._given = dict(given)
        if isinstance(default, str):
            self.default = default
        else:
            self.default = next(iter(known))
            self._given[self.default] = default
        self._open: dict[str, Answerer] = {}
        if self.default not in self.names:
            raise ConfigError(f"{self.default!r} is not known here. There are: {self._list}.")
        if missing := self._missing(self.default):
            raise ConfigError(missing)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([*self._known, *self._given]))

    @property
    def _list(self) -> str:
        return ", ".join(self.names)

    def named(self, name: str | None) -> str:
        """The name, or that of the default. Raises BadInput for one that is not known."""
        if name is not None and name not in self.names:
            raise BadInput(f"There is no engine {name!r}. There are: {self._list}.")
        if missing := self._missing(name or self.default):
            raise BadInput(missing)
        return name or self.default

    def _missing(self, name: str) -> str | None:
        """What to install for this engine; None: it is there."""
        package, extra = ("", "") if name in self._given else self._needs.get(name, ("", ""))
        if not package or find_spec(package) is not None:
            return None
        return f"The engine {name!r} is not installed. Install it: pip install 'turnlog[{extra}]'."

    def get(self, name: str) -> Answerer:
        if name not in self._open:
            raise AgentGone(f"engine {name!r} of this session")
        return self._open[name]

    @asynccontextmanager
    async def opened(self, provider: Any) -> AsyncIterator[None]:
        """Those that ship are made for this provider, and the default one gets ready at once."""
        async with AsyncExitStack() as stack:
            shipped = [name for name in self._known if name not in self._given]
            made = {n: self._known[n](provider, soon=n == self.default) for n in shipped}
            for name, engine in {**made, **self._given}.items():
                await engine.open()
                stack.push_async_callback(engine.close)
                self._open[name] = engine
            stack.callback(self._open.clear)
            yield
