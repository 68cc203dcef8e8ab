"""The pages that people watch a collection on, and the one on which they design the next."""

from entropie.collector.dashboard.site import Answer, Site, answer

__all__ = ["Answer", "Site", "answer"]
