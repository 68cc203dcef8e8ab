"""What an adversary does: user models, matchers, all-pairs scoring, decision."""
