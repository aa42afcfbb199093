"""A small HTTP/1.1 client: one request at a time on a connection, a body that is read at a pace.

framing: where a body ends · head: what stands before it · exchange: a request and its response ·
pool: connections, while they are used and between · route: the way to the server ·
lookup: the places that its name stands for
"""
