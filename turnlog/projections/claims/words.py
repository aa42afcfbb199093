"""The words of claims, as tables: what an answer may say was done, and which tools do it.

English first; German as far as it stays precise. A claim that these tables do not know is passed
over in silence. Phrases stand between bars; what is in brackets may be missing: `task(s)`.
"""

from typing import NamedTuple


class Deed(NamedTuple):
    """One kind of work."""

    english: str  # how an answer says that it was done
    german: str
    asked: str  # how a person asks for it, in both
    tools: str  # words in the names of tools that do it
    of_records: bool = True  # words can do it too ("I created a summary"): ask what it was done to


# fmt: off
DEEDS: dict[str, Deed] = {
    "created": Deed(
        "created|added|registered|recorded|set up|inserted",
        "angelegt|erstellt|hinzugefügt|erfasst|eingetragen",
        "create|creating|add(ing)|register|record|set up|insert|make|enter|remind me|"
        "anlegen|anlege|leg(e)|erstelle(n)|hinzufügen|füg(e)|erfasse(n)|eintrage(n)|trag(e)",
        "create add new insert register record make open import issue generate copy duplicate "
        "clone convert put post upsert save store write draft submit upload schedule book order"),
    "deleted": Deed(
        "deleted|removed|erased|cleared",
        "gelöscht|entfernt",
        "delete|deleting|remove|removing|erase|clear|drop|get rid of|"
        "lösch|lösche(n)|entferne(n)",
        "delete remove erase clear drop purge destroy cancel archive discard empty trash"),
    "updated": Deed(
        "updated|changed|modified|renamed|edited|adjusted|corrected",
        "aktualisiert|geändert|umbenannt|angepasst|korrigiert",
        "update|updating|change|changing|modify|rename|edit|adjust|correct the|set|move|"
        "aktualisiere(n)|änder(n)|ändere|umbenennen|benenne|anpassen|pass(e)|korrigiere(n)|setze(n)",
        "update edit change modify set rename move patch put upsert save replace adjust assign "
        "mark complete add remove write correct toggle close reopen delete create cancel post"),
    "completed": Deed(
        "completed|finished|closed|checked off|ticked off|marked",
        "abgeschlossen|erledigt|abgehakt",
        "complete|completing|finish|close|check off|tick off|mark|"
        "abschließen|erledige(n)|abhaken|hak(e)|markiere(n)",
        "complete finish close mark done resolve check toggle update set patch edit"),
    "posted": Deed(
        "posted", "gebucht|verbucht",
        "post(ing)|book(ing)|buche(n)|verbuche(n)",
        "post book publish submit release comment add send", of_records=False),
    "booked": Deed(
        "booked|reserved", "reserviert",
        "book(ing)|reserve|reserving|reserviere(n)|buche(n)",
        "book reserve create add schedule post order register", of_records=False),
    "sent": Deed(
        "sent|emailed|forwarded|submitted|notified",
        "gesendet|verschickt|versendet|abgeschickt|gemailt|weitergeleitet",
        "send(ing)|e(-)mail|forward|submit|notify|inform|remind|"
        "sende(n)|schicke(n)|verschicke(n)|maile(n)|weiterleite(n)|leite",
        "send email mail notify forward submit publish deliver message invite share remind",
        of_records=False),
    "canceled": Deed(
        "cancelled|canceled|voided", "storniert|abgesagt",
        "cancel|canceling|cancelling|void|call off|storniere(n)|absage(n)|sag(e)",
        "cancel void reverse delete remove update close withdraw revoke", of_records=False),
    "approved": Deed(
        "approved", "genehmigt|freigegeben",
        "approve|approving|release|genehmige(n)|freigeben|geb(e)",
        "approve release confirm accept sign update set", of_records=False),
    "shipped": Deed(
        "shipped|dispatched", "versandt|ausgeliefert",
        "ship(ping)|dispatch|deliver|versende(n)|liefer(n)|liefere",
        "ship dispatch deliver send post", of_records=False),
    "paid": Deed(
        "paid|refunded", "bezahlt|überwiesen|erstattet",
        "pay(ing)|refund|zahle(n)|bezahle(n)|überweise(n)|erstatte(n)",
        "pay refund post transfer settle charge apply reimburse"),
    "scheduled": Deed(
        "scheduled|rescheduled", "eingeplant|terminiert|verschoben",
        "(re)schedule|(re)scheduling|plan|set up|arrange|move|"
        "einplane(n)|plane|terminiere(n)|verschiebe(n)",
        "schedule reschedule book create add plan set move update arrange"),
    "assigned": Deed(
        "assigned|reassigned", "zugewiesen|zugeordnet",
        "(re)assign|(re)assigning|give|zuweisen|weise|zuordnen|ordne",
        "assign reassign set update transfer give delegate"),
    "saved": Deed(
        "saved|stored|uploaded|imported|archived|restored",
        "gespeichert|hochgeladen|importiert|archiviert|wiederhergestellt",
        "save|saving|store|upload|import|archive|restore|"
        "speicher(n)|speichere|hochladen|lade|importiere(n)|archiviere(n)",
        "save store upload import archive restore put write create add update insert"),
}
# fmt: on
NO_DEED = "added up|added together|notified you|cancelled out|canceled out"
MARKED_AS = "done|complete(d)|finished|closed"  # one of these makes "marked" a deed

RECORDS = (  # what only a tool can do something to
    "task(s)|to(-)do(s)|reminder(s)|customer(s)|client(s)|vendor(s)|supplier(s)|contact(s)|"
    "account(s)|user(s)|item(s)|product(s)|article(s)|order(s)|quote(s)|offer(s)|invoice(s)|"
    "bill(s)|credit memo(s)|shipment(s)|receipt(s)|payment(s)|journal(s)|entry|entries|record(s)|"
    "line(s)|project(s)|ticket(s)|meeting(s)|appointment(s)|event(s)|booking(s)|reservation(s)|"
    "employee(s)|contract(s)|opportunity|opportunities|lead(s)|price list(s)|warehouse(s)|"
    "location(s)|addresses|address|subscription(s)|"
    "aufgabe(n)|kunde(n)|debitor(en)|kreditor(en)|lieferant(en)|kontakt(e)|artikel|"
    "(verkaufs)auftrag|(verkaufs)aufträge|einkaufsauftrag|einkaufsaufträge|bestellung(en)|"
    "angebot(e)|(verkaufs)rechnung(en)|einkaufsrechnung(en)|gutschrift(en)|lieferung(en)|"
    "zahlung(en)|buchung(en)|zeile(n)|projekt(e)|termin(e)|erinnerung(en)|mitarbeiter|"
    "datensatz|datensätze"
)
NO_RECORD = "order of|orders of"
ONES_LIST = "your|the|my"  # ... list is a record too
WRITINGS = (  # what an answer can hold itself
    "draft(s)|e(-)mail(s)|mail(s)|letter(s)|message(s)|summary|summaries|overview(s)|table(s)|"
    "template(s)|example(s)|sample(s)|plan(s)|query|queries|code|function(s)|script(s)|snippet(s)|"
    "report(s)|breakdown(s)|outline(s)|paragraph(s)|sentence(s)|wording|text(s)|version(s)|"
    "section(s)|column(s)|row(s)|chart(s)|diagram(s)|formula(s)|bullet(s)|list(s)|analysis|"
    "search(es)|review(s)|check(s)|calculation(s)|request(s)|step(s)|response(s)|answer(s)|"
    "result(s)|output|view(s)|selection(s)|ranking(s)|filter(s)|total(s)|sum(s)|structure|"
    "format(s)|formatting|translation(s)|comparison(s)|explanation(s)|detail(s)|information|"
    "name(s)|variable(s)|import(s)|file(s)|class(es)|"
    "entwurf|entwürfe|zusammenfassung|übersicht|tabelle|vorlage|beispiel|abfrage|bericht|"
    "absatz|satz|fassung|abschnitt|spalte|suche|berechnung|liste|antwort|schritt(e)|anfrage"
)
NUMBER_WORDS = {
    word: number
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    )
    for number, word in enumerate(words.split(), 1)
} | {"both": 2, "beide": 2, "einen": 1}

# What stands around a deed.
ADVERBS = (
    "just|now|also|successfully|then|finally|been|all|both|permanently|properly|safely|only|"
    "subsequently|immediately|jetzt|nun|soeben|gerade|erfolgreich|auch"
)
LEADS = (
    "yes|ok|okay|done|great|perfect|sure|alright|now|also|then|finally|additionally|first|second|"
    "next|in addition|for you|ja|so|nun|jetzt|anschließend|außerdem|erledigt|fertig"
)
DETERMINERS = (
    "it|them|the|your|all|both|this|that|these|those|a|an|everything|his|her|its|their|each"
)
JOINS = "and|but|so|then|und|aber|sowie|dann"  # begins a new clause
CONDITIONS = "if|when|once|unless|after|before|as soon as|wenn|falls|sobald|nachdem"
DONE = "done|all set|success|erledigt|fertig"
OTHER_VERBS = "i|is|are|was|were|has|have|be|here|see|ist|sind|hat|wurde(n)"
NONE_OF_IT = "no|nothing|none|neither|not|any|kein|keine|keinen|nichts"
# Before the verb, these make it something else than a claim.
HEDGES = (
    "can|could|would|will|shall|should|may|might|must|to be|to have|if|unless|once|when|whenever|"
    "until|before|after|while|let|going|want|need|cannot|not|'t|no|nothing|none|never|"
    "without|unable|neither|nor|fail(s)|failed|almost|nearly|whether|how|where|which|who|that|"
    "i 'd|i 'll|you|as though|suppose|example|pretend|imagine|"
    "kann|können|könnte(n)|würde(n)|wird|werde(n)|soll|sollen|sollte|möchte|muss|"
    "müssen|darf|falls|wenn|sobald|bevor|nachdem|ob|nicht|kein|keine|keinen|keiner|nichts|nie|"
    "ohne|weder|fast|dass|die sie|den sie|das sie"
)
# Words that refer to work of another time.
BACK = (
    "earlier|previously|before|already|yesterday|last week|last month|last year|last time|"
    "last night|ago|as mentioned|as discussed|as noted|as said|originally|initially|so far|"
    "until now|previous|at the start|at the beginning|this morning|in the past|back then|history|"
    "bereits|schon|vorhin|früher|gestern|zuvor|vorher|letzte|letzten|letzter|letztes|"
    "ursprünglich|bisher|damals"
)
FRESH = "just|now|also|successfully|jetzt|nun|soeben|gerade|erfolgreich"
POINTS_HERE = "above|below|oben|unten|mentally|in this chat"
DATES = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|today at|"
    "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
)
BEFORE_A_DATE = "on|in|at|since|am|im|vom|seit|um"

# What the work was done to.
PRONOUNS = (
    "it|them|this|that|these|those|all|both|everything|each|they|sie|es|ihn|alle|beide|alles|"
    "diese|diesen|dieser|dieses"
)
AFTER_A_PRONOUN = (
    ".|!|,|of|for|from|as|to|now|too|successfully|have|has|was|were|wurde(n)|erfolgreich"
)
WHOLE_OF = "copy of|all of|both of|each of|one of"
NOT_BETWEEN = "of|for|to|in|on|with|from|about|by|per|at|into|up|some|your own"
PART_BEGINS = "the|its|their|your|his|her|den|die|das"
NO_PART = "order|sequence|sort|layout|format|grouping|wording|way|reihenfolge"
PART_OF = "of|for|on|in|from|to|at|as|für|von|der|des|auf"
INTO = "to|from|zu|aus|von"
BEFORE_A_NAME = "the|a|an|new|den|die|das"
BEFORE_AN_ID = "a|an|the|new|sales|purchase|as|with|number|no|id|nr|.|nummer|als|mit|der|(|:|#"

# A question that begins like this, or holds one of the second kind, asks for no work.
OPENS_A_QUESTION = (
    "what|when|where|who|whose|which|explain|describe|summarize|summarise|recap|tell me|did|"
    "have you|has|was|were|is|are|do|does|any|show|list|find|get|search|give|"
    "wann|wo|wer|welche|welcher|welches|welchen|erklär(e)|beschreib(e)|zeig(e)|fass(e)|hast|haben|"
    "wurde(n)|ist|sind|gibt|such(e)|finde"
)
ASKS_FOR_ADVICE = "how|why|what|whether|steps|wie|was|warum|ob"
# Who asks for words gets words, and what they claim is not claimed by the answer.
ASKS_FOR_WORDS = (
    "write|draft|compose|translate|rephrase|rewrite|reword|proofread|shorten|shorter|formulate|"
    "schreib(en)|schreibe|entwirf|entwerfen|übersetz|übersetze(n)|formuliere(n)|umformulieren|"
    "kürze(n)"
)
LETTERS = (
    "dear|subject :|kind regards|best regards|sehr geehrte|sehr geehrter|betreff :|mit freundlichen"
)
GO_AHEAD = (
    "yes|yep|yeah|ok|okay|sure|please do|do it|do so|go ahead|go on|proceed|confirm(ed)|approved|"
    "correct|exactly|ja|klar|gerne|bitte|mach|los|einverstanden|genau|bestätigt"
)
THANKS = "thank(s)|danke|thx"
ONES_OWN = "i|my|mine|we|our|any|for me|mir|ich|mein|meine|meinen|wir|unser|unsere|unseren"

# How an answer tells of the user's records.
YOU_HAVE = (
    "you have|you currently have|you now have|you only have|you still have|you 've got|"
    "i found|i counted|i retrieved|i see|i have found|i have counted|i have retrieved|"
    "i 've found|i 've counted|i 've retrieved|"
    "sie haben|du hast|sie haben aktuell|du hast aktuell"
)
THERE_ARE = "there are|there is|there are currently|there is currently|here are your|es gibt|hat"
IN_ALL = "a total of|exactly|insgesamt"
COUNTS_END = (  # after the record, the sentence says no more about which ones are counted
    ".|!|:|;|)|in total|in all|altogether|right now|at the moment|insgesamt|gefunden|and|und"
)
NARROWS = "that|which|who|due|with|die|das"  # after a comma
ABOUT_NO_DATA = (
    "if|suppose|imagine|assume|say|each|every|example|would|could|can|should|not|'t|typically|"
    "usually|often|wenn|falls|beispiel|könnte|nicht"
)
ALL_OF_THEM = "my|our|all|the|many|alle|meine|unsere|viele"
AFTER_ALL_OF_THEM = (
    "?|.|!|,|do|does|are there|have|exist|are in|please|bitte|habe|haben|gibt|now|again"
)
STATES = (  # of records that only a tool can know
    "open|pending|overdue|unpaid|unread|active|upcoming|outstanding|remaining|new|due|unfinished|"
    "incomplete|completed|offene|offenen|überfällige|überfälligen|unbezahlte|unbezahlten|neue|neuen"
)
UNASKED = "by the way|btw|just so you know|fyi|reminder|übrigens"
GREETINGS = (
    "hello|hi|hey|good morning|good evening|good afternoon|greetings|howdy|thanks|thank you|"
    "hallo|guten morgen|guten tag|guten abend|moin|servus|danke|how are you|what 's up|"
    "how is it going|how 's it going|wie geht es|wie geht 's"
)
YOURS = "your|deine|deinen|ihre|ihren|eure"
LIST_IS = "are|is|include|includes|sind|ist|lauten"
LIST_BEGINS = "here are|here is|here 's|these are|hier sind|hier ist|das sind"
THE_FOLLOWING = (
    "you have the following|you have these|you currently have the following|"
    "i found the following|i found these|du hast folgende|sie haben folgende|"
    "du hast die folgenden|sie haben die folgenden"
)
# Who asks for such things wants something new, or advice; nothing was to be looked up.
ASKS_FOR_IDEAS = (
    "make|create|write|draft|plan|suggest|suggestion(s)|propose|recommend|idea(s)|brainstorm|"
    "generate|should|could|how|need to|break|split|turn|convert|extract|organize|organise|"
    "example(s)|imagine|pretend|suppose|as a|as an|checklist|where|safe|why|"
    "mach|mache|erstelle(n)|schreib(e)|plane|vorschlag|vorschläge|schlag(e)|idee(n)|sollte|soll|"
    "wie|als"
)
