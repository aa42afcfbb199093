"""docs/simulator.md: its transcripts are played again, its sentences are those of the table."""

import json
import re
from pathlib import Path

from sim_tools import ERP_TOOLS, OTHER_TOOLS, TASK_TOOLS, Box, Chat, tasks

from turnlog.simulator.conversation.intents import TABLE
from turnlog.simulator.conversation.patterns import WORDS

PAGE = Path(__file__).parent.parent / "docs" / "simulator.md"
TRANSCRIPT = re.compile(r"```transcript\n(.*?)```", re.S)
SENTENCES = re.compile(r"```sentences\n(.*?)```", re.S)
CHATS = {
    "tasks": lambda: Chat(TASK_TOOLS, tasks("Buy milk", "Call Bob", "Write report")),
    "erp": lambda: Chat(ERP_TOOLS, Box()),
    "other": lambda: Chat(OTHER_TOOLS, Box()),
}


def played(transcript):
    """The same transcript, with what the simulator does and says now."""
    head, *lines = transcript.splitlines()
    chat, told = CHATS[head.removeprefix("tools: ")](), [head]
    for question in (line[2:] for line in lines if line.startswith("> ")):
        before = len(chat.messages)
        chat.say(question)
        told += [f"> {question}", *shown(chat.messages[before + 1 :: 2]), ""]
    return "\n".join(told).rstrip() + "\n"


def shown(answers):
    for answer in answers:
        for block in answer["content"]:
            if block["type"] == "text":
                yield block["text"]
            else:
                yield f"[{block['name']} {json.dumps(block['input'], ensure_ascii=False)}]"


def sentences():
    rows = [f"<{word}> is {forms.replace('|', ', ')}\n" for word, forms in WORDS.items()]
    for domain, intents in TABLE.items():
        rows.append(f"\n{domain}:\n")
        rows += [f"  {intent.pattern}  {intent.tools}".rstrip() + "\n" for intent in intents]
    return "".join(rows)


def test_the_page_is_what_the_simulator_says(request):
    page = PAGE.read_text()
    now = TRANSCRIPT.sub(lambda found: f"```transcript\n{played(found[1])}```", page)
    now = SENTENCES.sub(lambda found: f"```sentences\n{sentences()}```", now)
    if request.config.getoption("--accept"):
        PAGE.write_text(now)
    assert PAGE.read_text() == now


def test_there_are_transcripts_and_sentences():
    page = PAGE.read_text()
    assert len(TRANSCRIPT.findall(page)) == len(CHATS)
    assert sentences() in page
