"""From a Timeline to a part of it, or to an answer."""
