"""The demo company's master data: invented, apart from names that Business Central's own demo
data made familiar. Numbers follow the series of `company.py`.
"""

# fmt: off
# number, name, street, city, state, postal code, terms, credit limit, taxable
CUSTOMERS = """
10000 |Adatum Corporation     |192 Market Square |Atlanta    |GA|31772|1M(8D) |    0|yes
20000 |Trey Research          |153 Thomas Drive  |Chicago    |IL|61236|14 DAYS|    0|yes
30000 |School of Fine Art     |10 Deerfield Road |Miami      |FL|37125|CM     |    0|no
40000 |Alpine Ski House       |200 Summit Avenue |Denver     |CO|80202|30 DAYS|    0|yes
50000 |Relecloud              |25 Water Way      |Seattle    |WA|98101|14 DAYS|    0|yes
C00010|Brookline Interiors    |41 Harvard Street |Brookline  |MA|02445|30 DAYS|25000|yes
C00020|Copper Kettle Cafés    |7 Mill Lane       |Portland   |ME|04101|14 DAYS|10000|yes
C00030|Driftwood Hotels       |900 Ocean Drive   |Galveston  |TX|77550|30 DAYS|60000|yes
C00040|Eastgate Law Partners  |12 Court Square   |Richmond   |VA|23219|30 DAYS|40000|yes
C00050|Fern & Finch Florists  |88 Garden Street  |Savannah   |GA|31401|CM     | 5000|yes
C00060|Granite State Credit   |3 Bank Plaza      |Concord    |NH|03301|30 DAYS|50000|no
C00070|Harbor View Clinic     |56 Pier Road      |Baltimore  |MD|21202|30 DAYS|80000|no
C00080|Ironwood Architects    |19 Foundry Row    |Pittsburgh |PA|15222|14 DAYS|30000|yes
C00090|Juniper Day Schools    |240 Maple Avenue  |Albany     |NY|12207|30 DAYS|45000|no
C00100|Kestrel Air Charter    |1 Hangar Way      |Tulsa      |OK|74115|14 DAYS|20000|yes
C00110|Larkspur Books         |33 Paper Street   |Ann Arbor  |MI|48104|30 DAYS| 8000|yes
C00120|Maple Leaf Dental      |615 Elm Street    |Burlington |VT|05401|30 DAYS|15000|no
C00130|Northfield Foundry     |4800 Steel Road   |Cleveland  |OH|44101|30 DAYS|70000|yes
C00140|O'Brien & Daughters    |21 Shamrock Court |Boston     |MA|02108|14 DAYS|18000|yes
C00150|Prairie Wind Energy    |77 Turbine Road   |Omaha      |NE|68102|30 DAYS|90000|yes
C00160|Quarry Lane Studios    |9 Quarry Lane     |Santa Fe   |NM|87501|CM     | 6000|yes
C00170|Redwood Realty         |310 Grove Street  |Sacramento |CA|95814|30 DAYS|35000|yes
C00180|Silver Birch Retirement|140 Birch Hill    |Minneapolis|MN|55401|30 DAYS|55000|no
C00190|Tidewater Shipping     |66 Dock Street    |Norfolk    |VA|23510|14 DAYS|75000|yes
C00200|Upland Veterinary      |18 Pasture Road   |Lexington  |KY|40507|30 DAYS|12000|yes
C00210|Vesper Theater Company |500 Curtain Street|Nashville  |TN|37203|CM     | 9000|no
C00220|Willow Creek Winery    |2 Vine Road       |Walla Walla|WA|99362|30 DAYS|22000|yes
C00230|Yellow Brick Nurseries |71 Sunflower Road |Wichita    |KS|67202|14 DAYS| 7000|yes
"""
BLOCKED = {"C00160": "All", "C00210": "Ship"}

# number, name, city, state, balance
VENDORS = """
10000 |Fabrikam, Inc.          |Atlanta     |GA|30200.50
20000 |First Up Consultants    |Chicago     |IL| 4125.00
30000 |Graphic Design Institute|Miami       |FL| 9880.75
40000 |Wide World Importers    |New York    |NY|61270.10
50000 |Nod Publishers          |Philadelphia|PA|  730.00
V00010|Allegheny Oak Supply    |Pittsburgh  |PA|15420.00
V00020|Bayside Upholstery      |Mobile      |AL| 8710.40
V00030|Cascade Lighting Works  |Portland    |OR| 3999.99
V00040|Delta Packaging         |Memphis     |TN|  612.35
V00050|Evergreen Panels        |Tacoma      |WA|22750.00
V00060|Frontier Freight        |Kansas City |MO| 5430.80
V00070|Gulf Coast Adhesives    |Beaumont    |TX|  245.60
V00080|Hudson Glass            |Yonkers     |NY|11890.00
V00090|Inland Steel Fittings   |Gary        |IN| 7340.25
V00100|Jefferson Tool Rental   |Louisville  |KY|    0.00
V00110|Keystone Fasteners      |Harrisburg  |PA| 1980.45
V00120|Lakeshore Textiles      |Milwaukee   |WI|18600.00
V00130|Mesa Office Cleaning    |Phoenix     |AZ|  850.00
V00140|New Haven Paper         |New Haven   |CT| 2310.15
V00150|Ozark Timber            |Springfield |MO|27400.00
V00160|Piedmont Print House    |Greensboro  |NC| 1445.00
V00170|Quincy Hardware         |Quincy      |MA|  378.20
V00180|Rio Grande Leather      |El Paso     |TX|14960.00
V00190|Sierra Foam             |Reno        |NV| 6205.70
V00200|Twin Cities Telecom     |Saint Paul  |MN|  419.90
"""

# number, name, type, category, tax group, unit, price, cost, stock
ITEMS = """
1896-S|ATHENS Desk                |Inventory    |TABLE|FURNITURE|PCS |1000.80| 780.70|  4
1900-S|PARIS Guest Chair, black   |Inventory    |CHAIR|FURNITURE|PCS | 192.80| 150.30| 12
1906-S|ATHENS Mobile Pedestal     |Inventory    |TABLE|FURNITURE|PCS | 432.30| 337.20|  7
1908-S|LONDON Swivel Chair, blue  |Inventory    |CHAIR|FURNITURE|PCS | 190.10| 148.10| 25
1920-S|ANTWERP Conference Table   |Inventory    |TABLE|FURNITURE|PCS | 647.00| 504.60|  3
1928-S|AMSTERDAM Lamp             |Inventory    |MISC |FURNITURE|PCS |  54.90|  42.80| 60
1936-S|BERLIN Guest Chair, yellow |Inventory    |CHAIR|FURNITURE|PCS | 192.80| 150.30| 18
1953-W|Guest Section              |Inventory    |TABLE|FURNITURE|SET | 180.40| 140.60|  9
1960-S|ROME Guest Chair, green    |Inventory    |CHAIR|FURNITURE|PCS | 192.80| 150.30| 11
1964-S|TOKYO Guest Chair, blue    |Inventory    |CHAIR|FURNITURE|PCS | 192.80| 150.30|  0
1965-W|Conference Bundle 2-8      |Non-Inventory|MISC |FURNITURE|SET | 173.90| 135.60|  0
1968-S|MEXICO Swivel Chair, black |Inventory    |CHAIR|FURNITURE|PCS | 190.10| 148.10| 30
1972-S|MUNICH Swivel Chair, yellow|Inventory    |CHAIR|FURNITURE|PCS | 190.10| 148.10| 16
1980-S|MOSCOW Swivel Chair, red   |Inventory    |CHAIR|FURNITURE|PCS | 190.10| 148.10|  5
1988-S|SEOUL Guest Chair, red     |Inventory    |CHAIR|FURNITURE|PCS | 192.80| 150.30| 14
1996-S|ATLANTA Whiteboard, base   |Inventory    |MISC |FURNITURE|PCS |1397.30|1089.90|  6
2000-S|SYDNEY Swivel Chair, green |Inventory    |CHAIR|FURNITURE|PCS | 190.10| 148.10| 21
2100-S|OSLO Standing Desk         |Inventory    |TABLE|FURNITURE|PCS |1249.00| 861.00|  8
2110-S|OSLO Desk Frame            |Inventory    |TABLE|FURNITURE|PCS | 699.00| 480.00| 10
2120-S|BERGEN Bookcase, oak       |Inventory    |MISC |FURNITURE|PCS | 349.50| 215.20| 19
2130-S|BERGEN Filing Cabinet      |Inventory    |MISC |FURNITURE|PCS | 289.00| 190.00| 22
2140-S|TURIN Desk Lamp, brass     |Inventory    |MISC |FURNITURE|PCS |  89.90|  51.25| 45
2150-S|LYON Coat Stand            |Inventory    |MISC |FURNITURE|PCS | 119.00|  64.00| 13
2160-S|Cable Tray, 80 cm          |Inventory    |PARTS|SUPPLIES |PCS |  24.50|   9.80|200
2170-S|Monitor Arm, single        |Inventory    |PARTS|SUPPLIES |PCS | 109.00|  58.40| 74
2180-S|Felt Desk Pad              |Inventory    |PARTS|SUPPLIES |PCS |  32.00|  11.10|150
2190-S|Wood Oil, 1 l              |Inventory    |PARTS|MATERIALS|CAN |  18.75|   7.90| 96
5000-V|Assembly on Site           |Service      |LABOR|LABOR    |HOUR|  85.00|  52.00|  0
5010-V|Office Planning            |Service      |LABOR|LABOR    |HOUR| 140.00|  90.00|  0
5020-V|Delivery, up to 50 miles   |Service      |LABOR|LABOR    |PCS |  95.00|  60.00|  0
"""
BLOCKED_ITEMS = ("1964-S",)

# entity, code, name; what else it has
SET_UP = {
    "currency":       "EUR | Euro, GBP | Pound Sterling, CAD | Canadian Dollar, CHF | Swiss Franc",
    "paymentMethod":  "CASH | Cash payment, CHECK | Check payment, BANK | Bank transfer",
    "shipmentMethod": "EXW | Ex warehouse, PICKUP | Pickup at location, DELIVERY | Delivery",
    "unitOfMeasure":  "PCS | Piece, SET | Set, HOUR | Hour, CAN | Can, BOX | Box",
    "itemCategory":   "CHAIR | Office chairs, TABLE | Desks and tables, MISC | Miscellaneous, "
                      "PARTS | Parts and supplies, LABOR | Services",
    "taxGroup":       "FURNITURE | Taxable furniture, SUPPLIES | Taxable supplies, "
                      "MATERIALS | Taxable raw materials, LABOR | Labor on job",
    "taxArea":        "ATLANTA, GA | Atlanta; CHICAGO, IL | Chicago; MIAMI, FL | Miami",
    "generalProductPostingGroup": "RETAIL | Retail, SERVICES | Services",
    "inventoryPostingGroup":      "RESALE | Resale items",
}
TERMS = {  # code: name, due date calculation
    "CM":      ("Current month", "30D"),
    "COD":     ("Cash on delivery", "0D"),
    "14 DAYS": ("Net 14 days", "14D"),
    "30 DAYS": ("Net 30 days", "30D"),
    "1M(8D)":  ("1 month, 2% within 8 days", "30D"),
}
ACCOUNTS = {  # number: name, category
    "40100": ("Sales of Goods", "Income"),
    "40200": ("Sales of Services", "Income"),
    "40950": ("Freight Charged", "Income"),
    "60100": ("Cost of Goods", "Cost of Goods Sold"),
    "13100": ("Accounts Receivable", "Assets"),
}
# fmt: on
