"""How well the library finds: questions of which a person has said where the answer is."""
