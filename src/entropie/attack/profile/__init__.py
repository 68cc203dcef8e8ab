"""The strongest profile attacker: earlier behaviour against later traces, with everything that traces tell.

habits      bins of hours, gaps, returns and days
everybody   what is known of all people, in counts that add up
people      profiles of known people and targets
candidates  the people who come into question
evidence    what speaks for each of them
fusion      how much each kind of evidence counts, learned on the training
joint       what the crowd of targets adds, up to one-to-one matching
attack      the way from end to end
conjunctions  what goes together in nobody else's life, apart from all that is weighed
parts       what conjunctions are made of
rows        what it achieves, once it is known whose the targets are
"""

from entropie.attack.profile.attack import ProfileAttack, profile_attack

__all__ = ["ProfileAttack", "profile_attack"]
