"""Settings of an installation: one order of sources, each value with its origin, nothing unknown accepted (S1.2).

    flags > environment > file > stored > default

`load()` reads them all, `Loaded.settings` has the values, `Loaded.explain(key)` tells where one comes from.
"""
