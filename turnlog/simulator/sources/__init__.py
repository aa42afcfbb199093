"""What an answer can rest on, as the API has it: documents, images, a small web.

Nothing here reads a sentence: that is `conversation/`.
"""
