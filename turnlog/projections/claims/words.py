"""The words of claims, as tables: what an answer may say was done, and which tools do it.

English first; German as far as it stays precise. Everything else about claims is in `claims`,
which reads these tables; a claim that they do not know is passed over in silence.
"""

from typing import NamedTuple


class Deed(NamedTuple):
    """One kind of work. The first three are alternatives of a regular expression."""

    english: str  # how an answer says that it was done
    german: str
    asked: str  # how a person asks for it, in both
    tools: str  # words in the names of tools that do it
    of_records: bool = True  # words can do it too ("I created a summary"): ask what it was done to


# fmt: off
DEEDS: dict[str, Deed] = {
    "created": Deed(
        r"created|added(?! (?:up|together)\b)|registered|recorded|set up|inserted",
        "angelegt|erstellt|hinzugefügt|erfasst|eingetragen",
        r"creat(?:e|ing)|add(?:ing)?|register|record|set up|insert|make|enter|remind me|"
        r"anlegen|anlege|lege?|erstellen?|hinzufügen|füge?|erfassen?|eintragen?|trage?",
        "create add new insert register record make open import issue generate copy duplicate "
        "clone convert put post upsert save store write draft submit upload schedule book order"),
    "deleted": Deed(
        "deleted|removed|erased|cleared",
        "gelöscht|entfernt",
        r"delet(?:e|ing)|remov(?:e|ing)|erase|clear|drop|get rid of|"
        r"löschen?|lösch|entfernen?",
        "delete remove erase clear drop purge destroy cancel archive discard empty trash"),
    "updated": Deed(
        "updated|changed|modified|renamed|edited|adjusted|corrected",
        "aktualisiert|geändert|umbenannt|angepasst|korrigiert",
        r"updat(?:e|ing)|chang(?:e|ing)|modify|rename|edit|adjust|correct the|set|move|"
        r"aktualisieren?|ändern?|ändere|umbenennen|benenne|anpassen|passe?|korrigieren?|setzen?",
        "update edit change modify set rename move patch put upsert save replace adjust assign "
        "mark complete add remove write correct toggle close reopen delete create cancel post"),
    "completed": Deed(
        r"completed|finished|closed|(?:checked|ticked) off|"
        r"marked\b(?=[^.!?\n]{0,120}\b(?:done|completed?|finished|closed)\b)",
        "abgeschlossen|erledigt|abgehakt",
        r"complet(?:e|ing)|finish|close|check off|tick off|mark|"
        r"abschließen|erledigen?|abhaken|hake?|markieren?",
        "complete finish close mark done resolve check toggle update set patch edit"),
    "posted": Deed(
        "posted", "gebucht|verbucht",
        r"post(?:ing)?|book(?:ing)?|buchen?|verbuchen?",
        "post book publish submit release comment add send", of_records=False),
    "booked": Deed(
        "booked|reserved", "reserviert",
        r"book(?:ing)?|reserv(?:e|ing)|reservieren?|buchen?",
        "book reserve create add schedule post order register", of_records=False),
    "sent": Deed(
        r"sent|emailed|forwarded|submitted|notified(?! you\b)",
        "gesendet|verschickt|versendet|abgeschickt|gemailt|weitergeleitet",
        r"send(?:ing)?|e-?mail|forward|submit|notify|inform|remind|"
        r"senden?|sende|schicken?|verschicken?|mailen?|weiterleiten?|leite",
        "send email mail notify forward submit publish deliver message invite share remind",
        of_records=False),
    "canceled": Deed(
        r"cancelled(?! out\b)|canceled(?! out\b)|voided", "storniert|abgesagt",
        r"cancel(?:l?ing)?|void|call off|stornieren?|absagen?|sage?",
        "cancel void reverse delete remove update close withdraw revoke", of_records=False),
    "approved": Deed(
        "approved", "genehmigt|freigegeben",
        r"approv(?:e|ing)|release|genehmigen?|freigeben|gebe?",
        "approve release confirm accept sign update set", of_records=False),
    "shipped": Deed(
        "shipped|dispatched", "versandt|ausgeliefert",
        r"ship(?:ping)?|dispatch|deliver|versenden?|liefern?|liefere",
        "ship dispatch deliver send post", of_records=False),
    "paid": Deed(
        "paid|refunded", "bezahlt|überwiesen|erstattet",
        r"pay(?:ing)?|refund|zahlen?|zahle|bezahlen?|überweisen?|erstatten?",
        "pay refund post transfer settle charge apply reimburse"),
    "scheduled": Deed(
        "scheduled|rescheduled", "eingeplant|terminiert|verschoben",
        r"(?:re)?schedul(?:e|ing)|plan|set up|arrange|move|"
        r"einplanen?|plane|terminieren?|verschieben?",
        "schedule reschedule book create add plan set move update arrange"),
    "assigned": Deed(
        "assigned|reassigned", "zugewiesen|zugeordnet",
        r"(?:re)?assign(?:ing)?|give|zuweisen|weise|zuordnen|ordne",
        "assign reassign set update transfer give delegate"),
    "saved": Deed(
        "saved|stored|uploaded|imported|archived|restored",
        "gespeichert|hochgeladen|importiert|archiviert|wiederhergestellt",
        r"sav(?:e|ing)|store|upload|import|archive|restore|"
        r"speichern?|speichere|hochladen|lade|importieren?|archivieren?",
        "save store upload import archive restore put write create add update insert"),
}
# fmt: on

RECORDS = (  # what only a tool can do something to
    r"tasks?|to-?dos?|reminders?|customers?|clients?|vendors?|suppliers?|contacts?|accounts?|users?|"
    r"items?|products?|articles?|orders?(?! of\b)|quotes?|offers?|invoices?|bills?|credit memos?|"
    r"shipments?|receipts?|payments?|journals?|entry|entries|records?|lines?|projects?|tickets?|"
    r"meetings?|appointments?|events?|bookings?|reservations?|employees?|contracts?|opportunity|"
    r"opportunities|leads?|price lists?|warehouses?|locations?|addresses|address|subscriptions?|"
    r"(?:your|the|my) (?:[a-z-]+ )?list|"
    r"aufgaben?|kunden?|debitor(?:en)?|kreditor(?:en)?|lieferant(?:en)?|kontakte?|artikel|"
    r"(?:verkaufs|einkaufs)?auftrag|(?:verkaufs|einkaufs)?aufträge|bestellung(?:en)?|angebote?|"
    r"(?:verkaufs|einkaufs)?rechnung(?:en)?|gutschrift(?:en)?|lieferung(?:en)?|zahlung(?:en)?|"
    r"buchung(?:en)?|zeilen?|projekte?|termine?|erinnerung(?:en)?|mitarbeiter|datensatz|datensätze"
)
WRITINGS = (  # what an answer can hold itself
    r"drafts?|e-?mails?|mails?|letters?|messages?|summary|summaries|overviews?|tables?|templates?|"
    r"examples?|samples?|plans?|query|queries|code|functions?|scripts?|snippets?|reports?|"
    r"breakdowns?|outlines?|paragraphs?|sentences?|wording|texts?|versions?|sections?|columns?|"
    r"rows?|charts?|diagrams?|formulas?|bullets?|lists?|analysis|search(?:es)?|reviews?|checks?|"
    r"calculations?|requests?|steps?|responses?|answers?|results?|output|views?|selections?|"
    r"rankings?|filters?|totals?|sums?|structure|formats?|formatting|translations?|comparisons?|"
    r"explanations?|details?|information|names?|variables?|imports?|file|files|class(?:es)?|"
    r"entwurf|entwürfe|zusammenfassung|übersicht|tabelle|vorlage|beispiel|plan|abfrage|bericht|"
    r"absatz|satz|text|fassung|abschnitt|spalte|suche|berechnung|liste|antwort|schritte?|anfrage"
)
NUMBER_WORDS = {
    word: number
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    )
    for number, word in enumerate(words.split(), 1)
} | {"both": 2, "beide": 2, "einen": 1}

# Before the verb, these make it something else than a claim.
HEDGES = (
    r"can|could|would|will|shall|should|may|might|must|to be|to have|if|unless|once|when|whenever|"
    r"until|before|after|while|let|going|want|need|cannot|not|[a-z]{2,6}n['’]t|no|nothing|none|never|"
    r"without|unable|neither|nor|fail(?:ed|s)?|almost|nearly|whether|how|where|which|who|that|"
    r"i['’](?:d|ll)|you['’](?:d|ll)|you|as though|suppose|example|pretend|imagine|"
    r"kann|können|könnte|könnten|würde|würden|wird|werde|werden|soll|sollen|sollte|möchte|muss|"
    r"müssen|darf|falls|wenn|sobald|bevor|nachdem|ob|nicht|kein|keine|keinen|keiner|nichts|nie|"
    r"ohne|weder|noch nicht|fast|dass|die sie|den sie|das sie"
)
# Words that refer to work of another time.
BACK = (
    r"earlier|previously|before|already|yesterday|last (?:week|month|year|time|night)|ago|"
    r"as (?:mentioned|discussed|noted|said)|originally|initially|so far|until now|previous|"
    r"at the (?:start|beginning)|this morning|in the past|back then|history|"
    r"bereits|schon|vorhin|früher|gestern|zuvor|vorher|letzte[nrs]?|ursprünglich|bisher|damals"
)
# A question that begins like this, or holds one of the second kind, asks for no work.
OPENS_A_QUESTION = (
    r"what|when|where|who|whose|which|explain|describe|summari[sz]e|recap|tell me|did|have you|has|"
    r"was|were|is|are|do|does|any|show|list|find|get|search|give|"
    r"was|wann|wo|wer|welche[rsn]?|erkläre?|beschreibe?|zeige?|fasse?|hast|haben|wurde|wurden|ist|"
    r"sind|gibt|suche?|finde"
)
ASKS_FOR_ADVICE = r"how|why|what|whether|steps|wie|was|warum|ob"
# Who asks for words gets words, and what they claim is not claimed by the answer.
ASKS_FOR_WORDS = (
    r"write|draft|compose|translate|rephrase|rewrite|reword|proofread|shorten|shorter|formulate|"
    r"schreiben?|entwirf|entwerfen|übersetzen?|übersetz|formulieren?|umformulieren|kürzen?"
)
LETTER = r"dear \w|subject: |(?:kind|best) regards|sehr geehrte|betreff: |mit freundlichen"
GO_AHEAD = (
    r"yes|yep|yeah|ok|okay|sure|please do|do it|do so|go ahead|go on|proceed|confirm(?:ed)?|"
    r"approved|correct|exactly|ja|klar|gerne|bitte|mach(?: das| es)?|los|einverstanden|genau|"
    r"bestätigt"
)
