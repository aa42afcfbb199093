"""The web of the simulation: invented pages on business topics, under example.com only.

Each has its address, its title and some sentences. None of it is advice, and none is news.
"""

from typing import NamedTuple


class Page(NamedTuple):
    url: str
    title: str
    text: str


PAGES: tuple[Page, ...] = (
    Page(
        "https://tax.example.com/vat/basics",
        "How value added tax works",
        "Value added tax (VAT) is charged at each step of a supply chain on the value that the "
        "step adds. A business deducts the VAT on its purchases from the VAT on its sales and "
        "pays the difference. The final consumer bears the tax because nobody can deduct it any "
        "more.",
    ),
    Page(
        "https://tax.example.com/vat/reverse-charge",
        "Reverse charge explained",
        "With reverse charge the customer owes the VAT instead of the supplier. The invoice "
        "then shows no VAT amount and says that the reverse charge applies. It is common for "
        "services between businesses in two countries of the European Union.",
    ),
    Page(
        "https://tax.example.com/invoices/required-fields",
        "What an invoice must contain",
        "An invoice names the seller and the buyer with their addresses, a consecutive number "
        "and a date. It lists quantity and kind of the goods, the net amount, the tax rate and "
        "the tax amount. A missing tax number of the seller is the most frequent reason why "
        "invoices are returned.",
    ),
    Page(
        "https://tax.example.com/einvoicing/en16931",
        "Electronic invoices and EN 16931",
        "EN 16931 describes the semantic model of an electronic invoice in Europe. An invoice "
        "as a PDF alone is not an electronic invoice in the sense of the standard. Hybrid "
        "formats embed the structured XML in a PDF that people can read.",
    ),
    Page(
        "https://trade.example.com/incoterms/overview",
        "Incoterms at a glance",
        "Incoterms are eleven rules that say who pays for transport and who bears the risk "
        "until where. EXW puts nearly everything on the buyer, DDP nearly everything on the "
        "seller. With FOB the risk passes when the goods are on board of the ship.",
    ),
    Page(
        "https://trade.example.com/incoterms/cif-cip",
        "CIF or CIP",
        "Under CIF and CIP the seller pays the carriage and the insurance. CIF is for sea "
        "transport only, while CIP fits every mode of transport. The insurance cover required "
        "under CIP is the wider one.",
    ),
    Page(
        "https://trade.example.com/customs/hs-codes",
        "HS codes for beginners",
        "The Harmonized System gives every traded product a code of six digits. Countries add "
        "digits of their own for tariffs and statistics. A wrong code can make a shipment wait "
        "at the border for days.",
    ),
    Page(
        "https://trade.example.com/letters-of-credit",
        "Letters of credit in short",
        "With a letter of credit the buyer's bank promises to pay against documents. The bank "
        "checks the papers and never the goods. Small differences between the papers are the "
        "usual reason for a refusal.",
    ),
    Page(
        "https://finance.example.com/dunning/levels",
        "Dunning in three levels",
        "Dunning reminds a customer of an overdue invoice in steps that become firmer. The "
        "first reminder is friendly, the second names a date, and the third announces legal "
        "steps. Interest and fees are usually added from the second level on.",
    ),
    Page(
        "https://finance.example.com/payment-terms",
        "Payment terms and early-payment discounts",
        "The term 2/10 net 30 means two percent discount within ten days, and the full amount "
        "within thirty. Not taking the discount costs the buyer roughly 37 percent a year. "
        "Terms belong on the invoice and into the contract.",
    ),
    Page(
        "https://finance.example.com/cash-flow/forecast",
        "A cash flow forecast in an hour",
        "A cash flow forecast lists expected receipts and payments week by week. Open invoices "
        "go in on the day when the customer usually pays and not on the due date. Thirteen "
        "weeks are the usual horizon.",
    ),
    Page(
        "https://finance.example.com/closing/checklist",
        "The month-end closing checklist",
        "At the end of a month the bank accounts are reconciled and the accruals are booked. "
        "Posted documents are never changed: a mistake is corrected with a reversing entry. The "
        "period is then locked.",
    ),
    Page(
        "https://finance.example.com/sepa/credit-transfer",
        "SEPA credit transfers",
        "A SEPA credit transfer reaches the other bank within one banking day. It needs the "
        "IBAN of the recipient and is always in euro. An instant transfer takes ten seconds at "
        "most.",
    ),
    Page(
        "https://data.example.com/iso-8601/dates",
        "ISO 8601: dates that sort",
        "ISO 8601 writes a date as year, month and day: 2026-11-16. Written like this, dates "
        "sort correctly as plain text. A week is written as 2026-W47, and it begins on Monday.",
    ),
    Page(
        "https://data.example.com/iso-4217/currencies",
        "ISO 4217 currency codes",
        "ISO 4217 gives each currency a code of three letters, such as EUR, USD and CHF. The "
        "first two letters are mostly those of the country. The standard also says how many "
        "decimals a currency has: the yen has none.",
    ),
    Page(
        "https://data.example.com/gdpr/retention",
        "How long may records be kept",
        "Personal data may be kept only as long as there is a purpose for it. Accounting "
        "records have a purpose of their own: tax law wants them for years. A retention plan "
        "says for each kind of record when it is deleted.",
    ),
    Page(
        "https://ops.example.com/inventory/abc-analysis",
        "ABC analysis of the stock",
        "ABC analysis sorts items by their share in the turnover. About a fifth of the items "
        "makes four fifths of the value: these are the A items. A items are counted often and "
        "ordered in small lots.",
    ),
    Page(
        "https://ops.example.com/inventory/reorder-point",
        "The reorder point",
        "The reorder point is the daily demand times the lead time in days, plus the safety "
        "stock. With a demand of 20 a day, five days of lead time and a safety stock of 40 it "
        "is 140. It should be computed again when suppliers change.",
    ),
    Page(
        "https://ops.example.com/erp/master-data",
        "Master data that stays clean",
        "Master data are customers, vendors, items and accounts. Duplicates arise when two "
        "people create the same customer: search first, then create. Every record needs one "
        "owner.",
    ),
    Page(
        "https://ops.example.com/audit/append-only-logs",
        "Why audit logs are append-only",
        "An append-only log is never updated and never deleted, so that it can prove what "
        "happened. Numbers without gaps show that nothing was taken out. A correction is a new "
        "entry that refers to the old one.",
    ),
    Page(
        "https://news.example.com/2026/einvoicing-mandate",
        "Simulated news: e-invoicing becomes the rule",
        "In this invented news item, most businesses can receive electronic invoices since this "
        "year. Sending them becomes mandatory in steps, with the largest companies first. Small "
        "businesses have the longest time to prepare.",
    ),
    Page(
        "https://news.example.com/2026/agents-in-back-office",
        "Simulated news: agents in the back office",
        "In this invented news item, companies let software agents prepare invoices and let "
        "people approve them. Auditors ask for a complete log of every step that an agent took. "
        "Approvals that wait for a person are the most frequent control.",
    ),
)
