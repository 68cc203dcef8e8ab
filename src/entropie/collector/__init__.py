"""The local privacy model run for real: devices obfuscate, a service counts, people watch estimates and risk."""
