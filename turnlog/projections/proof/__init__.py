"""Proof that a session is whole."""

from turnlog.projections.proof.chain import readable, unlike_head
from turnlog.projections.proof.proof import Proof, prove

__all__ = ["Proof", "prove", "readable", "unlike_head"]
