"""The ERP agent: Business Central's API v2.0, real or as an embedded sandbox.

`async with BusinessCentral(endpoint) as bc:` connects; `erp_agent(bc)` answers with its tools.
"""

from turnlog.contrib.business_central.agent import business_central_tools, erp_agent
from turnlog.contrib.business_central.client.connection import BusinessCentral, sandbox_folder
from turnlog.contrib.business_central.client.endpoint import Endpoint, endpoint_from

__all__ = [
    "BusinessCentral",
    "Endpoint",
    "business_central_tools",
    "endpoint_from",
    "erp_agent",
    "sandbox_folder",
]
