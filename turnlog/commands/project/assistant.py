"""An assistant for a help desk: what it knows, what it can do, and what it must ask first."""

from turnlog import Agent, ToolError, create_app, tool

TICKETS = {7: {"id": 7, "title": "The printer is on fire", "state": "open"}}


@tool(writes=False)
async def find_tickets(text: str = "") -> list[dict]:
    """Find tickets whose title has this text; all of them without one."""
    return [ticket for ticket in TICKETS.values() if text.lower() in ticket["title"].lower()]


@tool(describe="Close ticket {ticket}")
async def close_ticket(ticket: int) -> dict:
    """Close a ticket. A person is asked first, because it writes."""
    if ticket not in TICKETS:
        raise ToolError(f"There is no ticket {ticket}.")  # the model is told, and goes on
    TICKETS[ticket] |= {"state": "closed"}
    return TICKETS[ticket]


PROMPT = "You help the people of the help desk. Look tickets up before you speak about them."
AGENTS = [Agent("helpdesk", prompt=PROMPT, tools=[find_tickets, close_ticket])]
app = create_app(agents=AGENTS)
