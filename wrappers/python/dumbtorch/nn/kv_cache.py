"""KVCache: the keys and values that an attention layer has computed, for generation token by token."""

from .. import _ops


class KVCache(_ops.KvCache):
    """The keys and values [..., time, features] of the tokens that a layer has seen. update(key, value) appends those
    of new tokens and gives all. `capacity` tokens have room from the beginning; it grows where more come."""

    __slots__ = ()

    def __new__(cls, capacity: int = 0):
        return cls.take(_ops.kv_cache_new(capacity))

    def __len__(self) -> int:
        return self.length

    def __bool__(self) -> bool:
        """There is a cache, whether or not it holds anything."""
        return True
