"""From a request and counts follows a plan: every attack to run and the grid of blocks. Engines execute it.

attacks   one attack, and which of them an assessment takes: by each matcher, with identities shuffled, by attackers
          who know less or more
grid      blocks of people and of targets, cut to memory and cores
plan      both together, from a request and counts
execution a plan run by an engine, and what is told of it
sizes     what a price is asked for: people, what they share, machines
costs     what a plan takes: hours, bytes moved, memory
expected  what the attacks on some people will take here
"""
