"""What an assessment found as a value and as JSON: typed once, read once, written once."""

from entropie.document.assessment import FILE, SCHEMA, Document, file_of, read, text_of, typed

__all__ = ["FILE", "SCHEMA", "Document", "file_of", "read", "text_of", "typed"]
