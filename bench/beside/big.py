"""The same application with a tool whose result has as many characters as are wished for."""

from turnlog import Agent, create_app, tool


@tool(writes=False)
async def look(size: int) -> str:
    """Look at something.

    Args:
        size: how many characters there are
    """
    return "0123456789abcde " * (size // 16)


app = create_app([Agent("assistant", prompt="You help.", tools=[look])])
