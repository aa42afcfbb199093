"""Waiting for a turn of a session, in whichever process it runs.

Signals make it quick, and the store decides: whoever waits looks there again now and then.
"""
