"""The table of intents: what can be said, and what is done for it. Read it from top to bottom.

A sentence is read as a whole, word for word. One that no row reads, or that can be taken apart in
two ways, is not acted upon: see `reading.py`, and `patterns.py` for the brackets.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..sources import web
from . import erp, memory, small_talk, sums, tasks
from .plans import Batch, Desk, Plan, Speech
from .wording import result

Act = Callable[..., Plan | Speech | str] | str


class Intent(NamedTuple):
    """What is said; what is done, or answered; and the tools that it takes."""

    pattern: str
    act: Act
    tools: str = ""


def tell(desk: Desk, tool: str, **arguments: str) -> Plan:
    (done,) = yield Batch([desk.call(tool, **arguments)])
    return result(done)


def search(desk: Desk, query: str) -> Speech:
    return Speech(*web.search(desk.talk.body, query))


# fmt: off
SELF = small_talk.SELF
COUNT_TASKS, COUNT = partial(tasks.show, is_count=True), partial(erp.show, is_count=True)
PRICE = partial(erp.fields, kind="item", field="price")
SEARCH = partial(tell, tool="search_documents")
SOLD = "find_customer find_item create_sales_invoice"
POSTED = "get_sales_invoice post_sales_invoice"

TABLE: dict[str, tuple[Intent, ...]] = {
    "talk": (
        Intent("(hello|hi|hey|good morning|hallo|bonjour|hola|ciao) [there|again|claude]",
               f"Hello! {SELF}. How can I help?"),
        Intent("how are you [doing] [today]",
               f"I'm doing well, thank you for asking! {SELF}. What can I do for you?"),
        Intent("(thanks|thank you|great|perfect|danke|merci|gracias) [a lot|very much|so much]",
               "You're welcome!"),
        Intent("(bye|goodbye|see you|see you later)", "Goodbye! Everything we did is in the log."),
        Intent("(never mind|forget it|cancel|stop|no|no thanks)",   "All right, I do nothing."),
        Intent("(who|what) are you",                               small_talk.who),
        Intent("what is your name",                                small_talk.who),
        Intent("are you (real|human|claude|a model|a real model)", small_talk.who),
        Intent("(help|help me|what can you do|what can i say)",    small_talk.who),
        Intent("what did i [just] (ask|say)",                      small_talk.last_question),
        Intent("[remember|remember that|note|note that] my {fact} is {value}", memory.noted),
        Intent("what (is|was) my {fact}",                          memory.recalled),
        Intent("tell [me] a [long|short] story",                   small_talk.STORY),
    ),
    "sums": (
        Intent("[what is|how much is|calculate|compute] {sum}", sums.total),
        Intent("what time is it [now]",                         sums.time, "current_time"),
        Intent("what is the (time|date) [now|today]",           sums.time, "current_time"),
    ),
    "tasks": (
        Intent("<show> [me] [all] [of] [my|the] [{status}] <tasks>",  tasks.show,  "list_tasks"),
        Intent("what is on my (list|<tasks>)",                        tasks.show,  "list_tasks"),
        Intent("what do i have to do [today]",                        tasks.show,  "list_tasks"),
        Intent("which <tasks> (do i have|are there)",                 tasks.show,  "list_tasks"),
        Intent("which <tasks> are [still] {status}",                  tasks.show,  "list_tasks"),
        Intent("how many [{status}] <tasks> (do i have|are there)",   COUNT_TASKS, "list_tasks"),
        Intent("<create> [a|another] [new] <task> [to|called|named|to my list]",
               "What should the task be called?", "add_task"),
        Intent("<create> [a|another] [new] <task> (to|called|named) {title}",
               tasks.add, "add_task"),
        Intent("<create> [a|another] [new] <task>:? {title}",      tasks.add_if_one,  "add_task"),
        Intent("(remind me|do not forget|don.t forget) to {title}", tasks.add,        "add_task"),
        Intent("<create> [the|these|new] <tasks>:? {titles}",      tasks.add_several, "add_task"),
        Intent("(add|put) {titles} (to|on) my (list|<tasks>)",     tasks.add_to_list, "add_task"),
        Intent("(complete|finish|tick off) [the|my] [<task>] {task}",
               tasks.complete, "complete_task"),
        Intent("mark [the|my] [<task>] {task} as (done|completed)",
               tasks.complete, "complete_task"),
        Intent("<delete> all [of] [my|the] [{status}] <tasks>",
               tasks.delete_all, "list_tasks delete_task"),
        Intent("<delete> [the|my] <task> {task}",                  tasks.delete, "delete_task"),
        Intent("rename [the|my] [<task>] {task} to {title}",       tasks.rename, "update_task"),
    ),
    "erp": (
        Intent("<show> [me] [all] [the] [bc|business central] entities",
               partial(tell, tool="list_all_entities"), "list_all_entities"),
        Intent("<show> [me] [all] [of] [my|our|the] [{state}] {kinds}", erp.show, "find_{kind}"),
        Intent("<show> [me] [my|our|the] {kind} list",                 erp.show, "find_{kind}"),
        Intent("(find|look up|show|get|open) [me] [the|a] {kind} [called|named|number] {name}",
               erp.find, "find_{kind}|get_{kind}"),
        Intent("how many [{state}] {kinds} (do we have|are there)",    COUNT, "find_{kind}"),
        Intent("what is the {field} of [the] [{kind}] {name}",
               erp.fields, "find_{kind}|get_{kind}"),
        Intent("how much does {name} owe us",
               partial(erp.fields, kind="customer", field="balance"), "find_customer"),
        Intent("(what|how much) does [the|a|an] {name} cost", PRICE, "find_item"),
        Intent("how much is [the|a|an] {name}",               PRICE, "find_item"),
        Intent("what does [the|a|an] {name} cost and how many are in stock",
               partial(erp.fields, kind="item", field="price+stock"), "find_item"),
        Intent("<create> [a|the] [new] (customer|client) [called|named]",
               "What should the customer be called?", "create_customer"),
        Intent("<create> [a|the] [new] (customer|client) [called|named] {new_name} [in {city}]",
               erp.create_customer, "create_customer"),
        Intent("<create> [a|the] [new] (customer|client) [called|named] {name}",
               'Please put the name in quotes: create a customer called "Blue Bay" in Portland. '
               "For anything else about it, use create_customer.", "create_customer"),
        Intent("<create> [a|an|the] [new] [sales] invoice for {name} with {lines}",
               erp.create_invoice, SOLD),
        Intent("(bill|invoice) {name} for {lines}",            erp.create_invoice, SOLD),
        Intent("sell {lines} to {name}",                       erp.create_invoice, SOLD),
        Intent("<create> [a|an|the] [new] [sales] invoice [for {name}]",
               "What should be on the invoice: how many, and of what? Say for example: create an "
               "invoice for Adatum with 2 Athens desks", "create_sales_invoice"),
        Intent("post (it|that|this|the invoice|that invoice|this invoice)",
               partial(erp.post, number="it"), POSTED),
        Intent("post [the] [sales] [invoice] [number] {number}", erp.post, POSTED),
        Intent("<delete> [the] {kind} [called|named|number] {name}",
               erp.delete, "find_{kind} get_{kind} delete_{kind}"),
    ),
    "knowledge": (
        Intent("search [the|my|our] (documents|files|knowledge base) for {query}",
               SEARCH, "search_documents"),
        Intent("what (do|does) [the|my|our] (documents|handbook|policy) say (about|on) {query}",
               SEARCH, "search_documents"),
    ),
    "web": (
        Intent("search [the] (web|internet) for {query}",         search, "web_search"),
        Intent("what is the latest [news] (on|about) {query}",    search, "web_search"),
    ),
    "unclear": (
        Intent("add {titles}", "Do you mean tasks? Then say: add tasks: {titles}", "add_task"),
    ),
}
# A question with these words is for the agent of that name, if there is one to hand over to.
TEAM = {
    "tasks":     r"\b(?:tasks?|to-?dos?|remind\w*)\b",
    "erp":       r"\b(?:customers?|vendors?|items?|invoices?|orders?|stock|prices?|balance)\b",
    "knowledge": r"\b(?:documents?|files?|pdfs?|handbook|manual|policy|policies)\b",
}
# What was asked back, and the sentence that an answer makes of it.
ASKED_BACK = {
    "What should the task be called?":     'add a task called "{}"',
    "What should the customer be called?": "create a customer called {}",
    "Which task should I complete?":       "complete the task {}",
    "Which task should I delete?":         "delete the task {}",
}
# fmt: on
