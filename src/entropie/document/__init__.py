"""What an assessment found as a value and as JSON: typed once, read once, written once."""

from entropie.document.assessment import SCHEMA, Document, read, text_of, typed, write

__all__ = ["SCHEMA", "Document", "read", "text_of", "typed", "write"]
