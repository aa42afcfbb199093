"""Every entity of the sandbox, as API v2.0 has it. Documents are in `sales_entities.py`."""

from turnlog.contrib.business_central.sandbox.schema.fields import Entity, Link, read_fields
from turnlog.contrib.business_central.sandbox.schema.sales import DOCUMENTS

LOCAL_CURRENCY = "USD"
_CURRENCY = Link("currency", "currency", "currencyId", "currencyCode", local=LOCAL_CURRENCY)
_TERMS = Link("paymentTerm", "paymentTerm", "paymentTermsId")
_SHIPMENT = Link("shipmentMethod", "shipmentMethod", "shipmentMethodId")
_METHOD = Link("paymentMethod", "paymentMethod", "paymentMethodId")
_TAX_AREA = Link("taxArea", "taxArea", "taxAreaId", name_field="taxAreaDisplayName")

_ADDRESS = """
    addressLine1            text100
    addressLine2            text50
    city                    text30
    state                   text30
    country                 code10
    postalCode              code20
    phoneNumber             text30
    email                   text80
    website                 text80
"""
_HEAD = """
    id                      guid *
    number                  code20
    displayName             text100
"""
_CODED = """
    id                      guid *
    code                    code20
    displayName             text100
"""
_LAST = """
    lastModifiedDateTime    datetime *
"""

CUSTOMER = Entity(
    name="customer",
    set="customers",
    caption="Customer",
    series="customers",
    required=("displayName",),
    links=(_CURRENCY, _TERMS, _SHIPMENT, _METHOD, _TAX_AREA),
    fields=read_fields(
        f"""{_HEAD}
    type                    option:Company|Person
{_ADDRESS}
    salespersonCode         code20
    balanceDue              decimal *
    creditLimit             decimal
    taxLiable               boolean
    taxAreaId               guid
    taxAreaDisplayName      text100 *
    taxRegistrationNumber   text20
    currencyId              guid
    currencyCode            code10
    paymentTermsId          guid
    shipmentMethodId        guid
    paymentMethodId         guid
    blocked                 option:|Ship|Invoice|All
{_LAST}"""
    ),
)

VENDOR = Entity(
    name="vendor",
    set="vendors",
    caption="Vendor",
    series="vendors",
    required=("displayName",),
    links=(_CURRENCY, _TERMS, _METHOD),
    fields=read_fields(
        f"""{_HEAD}{_ADDRESS}
    taxRegistrationNumber   text20
    currencyId              guid
    currencyCode            code10
    irs1099Code             code10
    paymentTermsId          guid
    paymentMethodId         guid
    taxLiable               boolean
    blocked                 option:|Payment|All
    balance                 decimal *
{_LAST}"""
    ),
)

ITEM = Entity(
    name="item",
    set="items",
    caption="Item",
    series="items",
    required=("displayName",),
    links=(
        Link("itemCategory", "itemCategory", "itemCategoryId", "itemCategoryCode"),
        Link("taxGroup", "taxGroup", "taxGroupId", "taxGroupCode"),
        Link("unitOfMeasure", "unitOfMeasure", "baseUnitOfMeasureId", "baseUnitOfMeasureCode"),
        Link(
            "generalProductPostingGroup",
            "generalProductPostingGroup",
            "generalProductPostingGroupId",
            "generalProductPostingGroupCode",
        ),
        Link(
            "inventoryPostingGroup",
            "inventoryPostingGroup",
            "inventoryPostingGroupId",
            "inventoryPostingGroupCode",
        ),
    ),
    fields=read_fields(
        f"""{_HEAD}
    displayName2                    text50
    type                            option:Inventory|Service|Non-Inventory
    itemCategoryId                  guid
    itemCategoryCode                code20
    blocked                         boolean
    gtin                            code14
    inventory                       decimal *
    unitPrice                       decimal
    priceIncludesTax                boolean
    unitCost                        decimal
    taxGroupId                      guid
    taxGroupCode                    code20
    baseUnitOfMeasureId             guid
    baseUnitOfMeasureCode           code10
    generalProductPostingGroupId    guid
    generalProductPostingGroupCode  code20
    inventoryPostingGroupId         guid
    inventoryPostingGroupCode       code20
{_LAST}"""
    ),
)

ACCOUNT = Entity(
    name="account",
    set="accounts",
    caption="G/L Account",
    changeable=False,
    fields=read_fields(
        f"""{_HEAD}
    category                option:|Assets|Liabilities|Equity|Income|Cost of Goods Sold|Expense
    subCategory             text80
    blocked                 boolean
    directPosting           boolean
{_LAST}"""
    ),
)

COMPANY = Entity(
    name="company",
    set="companies",
    caption="Company",
    key="name",
    changeable=False,
    fields=read_fields(
        """
    id                      guid *
    systemVersion           text80
    timestamp               integer
    name                    text30
    displayName             text250
    businessProfileId       text250
    systemCreatedAt         datetime
    systemCreatedBy         guid
    systemModifiedAt        datetime
    systemModifiedBy        guid
"""
    ),
)


def _coded(name: str, set: str, caption: str, more: str = "") -> Entity:
    table = f"{_CODED}{more}{_LAST}"
    return Entity(name, set, caption, read_fields(table), key="code", required=("code",))


def _posting_group(name: str, set: str, caption: str) -> Entity:
    table = f"{_CODED.replace('displayName', 'description')}{_LAST}"
    return Entity(name, set, caption, read_fields(table), key="code", changeable=False)


_TAX_TYPE = "    taxType  option:Sales Tax|VAT\n"
_TERM_FIELDS = """
    dueDateCalculation              text32
    discountDateCalculation         text32
    discountPercent                 decimal
    calculateDiscountOnCreditMemos  boolean
"""
_CURRENCY_FIELDS = """
    symbol                   text10
    amountDecimalPlaces      text5
    amountRoundingPrecision  decimal
"""
_UNIT_FIELDS = """
    internationalStandardCode  code10
    symbol                     text10
"""

ENTITIES: dict[str, Entity] = {
    entity.name: entity
    for entity in (
        CUSTOMER,
        VENDOR,
        ITEM,
        *DOCUMENTS,
        ACCOUNT,
        _coded("currency", "currencies", "Currency", _CURRENCY_FIELDS),
        _coded("paymentTerm", "paymentTerms", "Payment Terms", _TERM_FIELDS),
        _coded("paymentMethod", "paymentMethods", "Payment Method"),
        _coded("shipmentMethod", "shipmentMethods", "Shipment Method"),
        _coded("unitOfMeasure", "unitsOfMeasure", "Unit of Measure", _UNIT_FIELDS),
        _coded("itemCategory", "itemCategories", "Item Category"),
        _coded("taxGroup", "taxGroups", "Tax Group", _TAX_TYPE),
        _coded("taxArea", "taxAreas", "Tax Area", _TAX_TYPE),
        _posting_group(
            "generalProductPostingGroup",
            "generalProductPostingGroups",
            "Gen. Product Posting Group",
        ),
        _posting_group(
            "inventoryPostingGroup", "inventoryPostingGroups", "Inventory Posting Group"
        ),
    )
}
SETS: dict[str, Entity] = {entity.set: entity for entity in (COMPANY, *ENTITIES.values())}
