"""What is answered without any tool: greetings, thanks, who and what it is, in a few languages."""

import re
from collections.abc import Sequence

from .clauses import Clause
from .talk import Talk, text_of
from .toolbox import HAND_OFF, Tool
from .words import WRITES, is_verb, plural, tokens

OPEN = "I am a simulated Claude: rules on your machine, no model and no key"

# fmt: off
# language -> what is said for each occasion; `{who}` says that it is a simulation.
LINES: dict[str, dict[str, str]] = {
    "en": {"hello":   "Hello! {who}. How can I help?",
           "how":     "I'm doing well, thank you for asking! {who}. What can I do for you?",
           "thanks":  "You're welcome!",
           "bye":     "Goodbye! Everything we did is in the log.",
           "nothing": "All right, I leave it at that.",
           "who":     "{who}. {role}{can}"},
    "de": {"hello":   "Hallo! Ich bin ein simuliertes Claude, kein Modell. Was kann ich tun?",
           "how":     "Gut, danke! Ich bin ein simuliertes Claude. Was kann ich für Sie tun?",
           "thanks":  "Gern geschehen!",
           "bye":     "Auf Wiedersehen!",
           "who":     "Ich bin ein simuliertes Claude: Regeln auf Ihrem Rechner, kein Modell."},
    "fr": {"hello":   "Bonjour ! Je suis un Claude simulé, pas un modèle. Que puis-je faire ?",
           "how":     "Très bien, merci ! Je suis un Claude simulé. Que puis-je faire pour vous ?",
           "thanks":  "Je vous en prie !",
           "bye":     "Au revoir !",
           "who":     "Je suis un Claude simulé : des règles sur votre machine, pas un modèle."},
    "es": {"hello":   "¡Hola! Soy un Claude simulado: reglas, no un modelo. ¿En qué puedo ayudar?",
           "how":     "¡Muy bien, gracias! Soy un Claude simulado. ¿En qué puedo ayudar?",
           "thanks":  "¡De nada!",
           "bye":     "¡Hasta luego!",
           "who":     "Soy un Claude simulado: reglas en su máquina, no un modelo."},
    "it": {"hello":   "Ciao! Sono un Claude simulato: regole, non un modello. Come posso aiutare?",
           "how":     "Bene, grazie! Sono un Claude simulato. Come posso aiutare?",
           "thanks":  "Prego!",
           "bye":     "Arrivederci!",
           "who":     "Sono un Claude simulato: regole sulla sua macchina, non un modello."},
}
# occasion -> language -> the words for it, at the start of what is said.
HEARD: dict[str, dict[str, str]] = {
    "hello":  {"en": r"hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|greetings",
               "de": r"hallo|guten (?:tag|morgen|abend)|servus|moin|grüezi",
               "fr": r"bonjour|salut|bonsoir|coucou",
               "es": r"hola|buen[oa]s (?:d[ií]as|tardes|noches)",
               "it": r"ciao|buon ?giorno|buonasera|salve"},
    "how":    {"en": r"how are you(?: doing| today)*|how(?:'s| is) it going|what'?s up",
               "de": r"wie geht(?:'s| es)?(?: dir| ihnen)?",
               "fr": r"(?:comment )?ça va|comment allez[- ]vous",
               "es": r"¿?(?:cómo|como) est[áa]s?", "it": r"come (?:va|stai)"},
    "thanks": {"en": r"thanks?(?: you)?(?: (?:so|very) much| a lot)?|thx|great|perfect|"
                     r"cool|nice|well done|awesome",
               "de": r"danke(?: schön| sehr)?|vielen dank", "fr": r"merci(?: beaucoup)?",
               "es": r"(?:muchas )?gracias", "it": r"grazie(?: mille)?"},
    "bye":    {"en": r"(?:good)?bye|see you(?: later)?|good night",
               "de": r"tschüss|auf wiedersehen", "fr": r"au revoir|à bientôt",
               "es": r"adi[oó]s|hasta luego", "it": r"arrivederci"},
    "nothing": {"en": r"never ?mind|forget (?:it|that)|nothing|no(?:,? thanks?)?|stop|"
                      r"that'?s (?:all|it)|(?:do not|don'?t|never) (?!let me |forget).*"},
    "who":    {"en": r"(?:and )?(?:who|what) (?:are|is) (?:you|this)|what(?:'s| is) your name|"
                     r"are you (?:a |an |the )?(?:real|claude|human|model|ai|bot|simulat\w+)\b.*|"
                     r"introduce yourself|tell me about yourself|"
                     r"what can you do(?: for me)?|help(?: me)?|"
                     r"what (?:tools|can i ask).*",
               "de": r"wer (?:bist du|sind sie)|wie hei(?:ß|ss)t du|was kannst du",
               "fr": r"qui (?:es[- ]tu|êtes[- ]vous)|comment tu t'appelles",
               "es": r"¿?qui[ée]n eres|¿?c[óo]mo te llamas", "it": r"chi sei|come ti chiami"},
}
# fmt: on
_ROLE = re.compile(r"\byou are ((?:an?|the) [^.,;:!?\n]{3,80})", re.I)


def heard(question: str) -> tuple[list[tuple[str, str]], str]:
    """The (occasion, language) pairs that a question opens with, and the rest of it."""
    rest, found = question.strip(), []
    while (one := _first(rest)) is not None:
        occasion, language, end = one
        found.append((occasion, language))
        rest = re.sub(
            r"^[\s,.!?;:)–-]*(?:(?:and|there|again|claude|everyone|all)\b[\s,.!?]*)?",
            "",
            rest[end:],
            flags=re.I,
        )
    return found, rest


def _first(text: str) -> tuple[str, str, int] | None:
    for occasion, languages in HEARD.items():
        for language, words in languages.items():
            if found := re.match(rf"(?:{words})(?!\w)", text, re.I):
                return occasion, language, found.end()
    return None


def reply(occasions: Sequence[tuple[str, str]], talk: Talk, tools: Sequence[Tool]) -> str:
    """One answer to all that was heard: who it is before how it is before a greeting."""
    order = ["who", "how", "hello", "bye", "nothing", "thanks"]
    occasion, language = min(occasions, key=lambda pair: order.index(pair[0]))
    return (
        LINES[language][occasion].format(who=OPEN, role=_role(talk), can=abilities(tools)).strip()
    )


def _role(talk: Talk) -> str:
    """What the system prompt says that it is."""
    found = _ROLE.search(text_of(talk.body.get("system")))
    return f"Here I stand in for {found[1].strip()}. " if found else ""


def abilities(tools: Sequence[Tool]) -> str:
    if not tools:
        return "I was offered no tools here, so I can only talk."
    doing: dict[str, list[str]] = {}
    for tool in tools:
        what = "other agents" if tool.is_hand_off else tool.label
        doing.setdefault(what, []).append(tool.name)
    parts = [_ability(what, names) for what, names in doing.items()]
    return f"I can help with: {'; '.join(parts)}. Just say what you want in plain words."


def _ability(what: str, names: Sequence[str]) -> str:
    if HAND_OFF.match(names[0]):
        return f"passing you on to {', '.join(HAND_OFF.sub('', name) for name in names)}"
    if len(names) == 1:
        return names[0].replace("_", " ")
    verbs = dict.fromkeys(word for name in names for word in tokens(name) if is_verb(word))
    return f"{plural(what)} ({', '.join(verbs)})"


def _missing_tool(clause: Clause, tools: Sequence[Tool]) -> str:
    """A verb and a noun that are both known, but no tool that has both."""
    nouns = [tool for tool in tools if tool.head in clause.nouns]
    if clause.verb not in WRITES or not nouns:
        return ""
    said = WRITES[clause.verb].split()[0]
    return f"I have no tool to {said} {plural(nouns[0].label)}, so I did nothing."


RANKING = re.compile(
    r"^(?:who|which|what|where)\b.*\b(?:most(?! recent)|least|biggest|largest|highest|lowest|best"
    r"|worst|cheapest|overdue|(?:low|short) on|out of|running (?:low|out))\b",
    re.I,
)


def ranked(question: str, tools: Sequence[Tool]) -> str | None:
    """A question that takes comparing all records: no rule does that."""
    if not tools or not RANKING.search(question):
        return None
    return (
        f"I do not compare records: I am rules. Ask for the list, and compare. {abilities(tools)}"
    )


def lost(question: str, tools: Sequence[Tool]) -> str:
    """When nothing fits: no guess, but a way on."""
    if not question:
        return f"You sent no text. {abilities(tools)}"
    if missing := _missing_tool(Clause(question[:200]), tools):
        return f"{missing} {abilities(tools)}"
    asked = question if len(question) <= 200 else question[:199] + "…"
    return f"I have no rule for “{asked}”, and I do not guess. {abilities(tools)}"
