"""The engines that a session may name: opened with the server, closed after it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from turnlog.errors import BadInput, ConfigError, NotFound
from turnlog.ports import Engine, Model

Answerer = Model | Engine
Make = Callable[..., Answerer]


class Engines:
    """By name: those that ship, and those that the app was given."""

    def __init__(
        self, default: Answerer | str, given: Mapping[str, Answerer], known: Mapping[str, Make]
    ) -> None:
        """`default` answers where a session names none; one without a name has the first's."""
        self._known = known
        self._given = dict(given)
        if isinstance(default, str):
            self.default = default
        else:
            self.default = next(iter(known))
            self._given[self.default] = default
        self._open: dict[str, Answerer] = {}
        if self.default not in self.names:
            raise ConfigError(f"{self.default!r} is not known here. There are: {self._list}.")

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
        return name or self.default

    def get(self, name: str) -> Answerer:
        if name not in self._open:
            raise NotFound(f"The engine {name!r} of this session is not here any more.")
        return self._open[name]

    @asynccontextmanager
    async def opened(self, *args: Any) -> AsyncIterator[None]:
        """Those that ship are made with these arguments."""
        async with AsyncExitStack() as stack:
            made = {n: make(*args) for n, make in self._known.items() if n not in self._given}
            for name, engine in {**made, **self._given}.items():
                await engine.open()
                stack.push_async_callback(engine.close)
                self._open[name] = engine
            stack.callback(self._open.clear)
            yield
