"""Access to language models, on pydantic-ai: finding them, asking them, what they cost, and the offline demo model.

Steps ask for `Answering` (streams an answer to the person) and `Predicting` (structured output, or a short text).
"""

from planwerk.models.answering import Answering
from planwerk.models.predicting import Predicting

__all__ = ["Answering", "Predicting"]
