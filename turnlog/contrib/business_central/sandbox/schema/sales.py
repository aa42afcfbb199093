"""Sales invoices and sales orders with their lines, as API v2.0 has them."""

from turnlog.contrib.business_central.sandbox.schema.fields import Entity, Link, read_fields

_LINKS = (
    Link("customer", "customer", "customerId", "customerNumber"),
    Link("billToCustomer", "customer", "billToCustomerId", "billToCustomerNumber"),
    Link("currency", "currency", "currencyId", "currencyCode", local="USD"),
    Link("paymentTerm", "paymentTerm", "paymentTermsId"),
    Link("shipmentMethod", "shipmentMethod", "shipmentMethodId"),
)
_LINE_LINKS = (
    Link("item", "item", "itemId"),
    Link("account", "account", "accountId"),
    Link("unitOfMeasure", "unitOfMeasure", "unitOfMeasureId", "unitOfMeasureCode"),
)

_PARTIES = """
    customerId                      guid
    customerNumber                  code20
    customerName                    text100 *
    billToName                      text100 *
    billToCustomerId                guid
    billToCustomerNumber            code20
    shipToName                      text100
    shipToContact                   text100
    sellToAddressLine1              text100
    sellToAddressLine2              text50
    sellToCity                      text30
    sellToCountry                   code10
    sellToState                     text30
    sellToPostCode                  code20
    billToAddressLine1              text100 *
    billToAddressLine2              text50 *
    billToCity                      text30 *
    billToCountry                   code10 *
    billToState                     text30 *
    billToPostCode                  code20 *
    shipToAddressLine1              text100
    shipToAddressLine2              text50
    shipToCity                      text30
    shipToCountry                   code10
    shipToState                     text30
    shipToPostCode                  code20
    currencyId                      guid
    shortcutDimension1Code          code20
    shortcutDimension2Code          code20
    currencyCode                    code10
"""
_TOTALS = """
    discountAmount                  decimal
    discountAppliedBeforeTax        boolean *
    totalAmountExcludingTax         decimal *
    totalTaxAmount                  decimal *
    totalAmountIncludingTax         decimal *
"""
_LAST = """
    lastModifiedDateTime            datetime *
    phoneNumber                     text30
    email                           text80
"""

_INVOICE = f"""
    id                              guid *
    number                          code20 *
    externalDocumentNumber          code35
    invoiceDate                     date
    postingDate                     date
    dueDate                         date
    promisedPayDate                 date
    customerPurchaseOrderReference  text35
{_PARTIES}
    orderId                         guid *
    orderNumber                     code20 *
    paymentTermsId                  guid
    shipmentMethodId                guid
    salesperson                     code20
    disputeStatusId                 guid
    disputeStatus                   code10
    pricesIncludeTax                boolean *
    remainingAmount                 decimal *
{_TOTALS}
    status                          option:|Draft|In Review|Open|Paid|Canceled|Corrective *
{_LAST}"""

_ORDER = f"""
    id                              guid *
    number                          code20
    externalDocumentNumber          code35
    orderDate                       date
    postingDate                     date
{_PARTIES}
    pricesIncludeTax                boolean *
    paymentTermsId                  guid
    shipmentMethodId                guid
    salesperson                     code20
    partialShipping                 boolean
    requestedDeliveryDate           date
{_TOTALS}
    fullyShipped                    boolean *
    status                          option:Draft|In Review|Open *
{_LAST}"""

_LINE = """
    id                              guid *
    documentId                      guid
    sequence                        integer
    itemId                          guid
    accountId                       guid
    lineType                        option:Comment|Account|Item|Resource
    lineObjectNumber                code20
    description                     text100
    description2                    text50
    unitOfMeasureId                 guid
    unitOfMeasureCode               code10
    quantity                        decimal
    unitPrice                       decimal
    discountAmount                  decimal
    discountPercent                 decimal
    discountAppliedBeforeTax        boolean *
    amountExcludingTax              decimal *
    taxCode                         code20
    taxPercent                      decimal *
    totalTaxAmount                  decimal *
    amountIncludingTax              decimal *
    invoiceDiscountAllocation       decimal *
    netAmount                       decimal *
    netTaxAmount                    decimal *
    netAmountIncludingTax           decimal *
    shipmentDate                    date
    itemVariantId                   guid
    locationId                      guid
"""
_SHIPPING = """
    shippedQuantity                 decimal *
    invoicedQuantity                decimal *
    invoiceQuantity                 decimal
    shipQuantity                    decimal
"""


def _document(name: str, caption: str, table: str, actions: tuple[str, ...]) -> Entity:
    fields = read_fields(table)
    return Entity(
        name,
        f"{name}s",
        caption,
        fields,
        series=f"{name}s",
        links=_LINKS,
        lines=f"{name}Line",
        actions=actions,
    )


def _line(document: str, caption: str, table: str) -> Entity:
    return Entity(
        f"{document}Line",
        f"{document}Lines",
        caption,
        read_fields(table),
        key="sequence",
        links=_LINE_LINKS,
        document=document,
    )


DOCUMENTS = (
    _document(
        "salesInvoice",
        "Sales Invoice",
        _INVOICE,
        ("post", "postAndSend", "send", "cancel", "cancelAndSend"),
    ),
    _line("salesInvoice", "Sales Invoice Line", _LINE),
    _document("salesOrder", "Sales Order", _ORDER, ("shipAndInvoice",)),
    _line("salesOrder", "Sales Order Line", _LINE + _SHIPPING),
)
