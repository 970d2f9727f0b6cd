"""What number stands for a word?

A word of eight bytes or fewer is its bytes as a number; a longer one, and words in a row, are folded into 64 bits by
products and shifts, each of which can be undone: what differs in one part alone never gets the same number, and what
differs in several does by a chance of 2⁻⁶⁴, some 3e-8 for any two of a million different ones.
"""

from hashlib import blake2b

import numpy as np

from turnwise.metrics.words.blocks import SPACE, Bytes, Numbers, Places

LIMB = 8  # bytes of a number
LONG = 16 * LIMB  # bytes of a word from which on a hash of the whole is cheaper
FACTORS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93], dtype=np.uint64)  # odd, with bits everywhere
_SHIFTS = np.array([32, 29], dtype=np.uint64)
_ALL, _BITS = np.array([2**64 - 1, 3], dtype=np.uint64)


def readable(text: Bytes) -> Bytes:
    """The text, lengthened so that `limb` can read from every place."""
    return np.concatenate([text, np.full(LIMB, SPACE)])


def limb(text: Bytes, starts: Places, sizes: Places) -> Numbers:
    """The first eight bytes of what stands from a place on; where it has fewer, filled up with 255, which no UTF-8 text holds."""
    eights = np.ndarray(len(text) - LIMB + 1, np.dtype("<u8"), text, strides=(1,))  # one begins at each place
    few = len(starts) < len(text) // 32  # `take` is faster for each, and first copies all that it could be asked for
    found: Numbers = eights[starts] if few else eights.take(starts)
    beyond = sizes.view(np.uint64) << _BITS
    found |= np.left_shift(_ALL, beyond, out=beyond)  # by 64 bits and more nothing is left of it
    return found


def numbers(text: Bytes, starts: Places, sizes: Places, factors: Numbers = FACTORS) -> Numbers:
    """What stands from each place on as a number."""
    found = limb(text, starts, sizes)
    long = np.flatnonzero(sizes > LIMB)
    for place in long[sizes[long] > LONG].tolist():
        word = text[starts[place] :][: sizes[place]].tobytes()
        found[place] = int.from_bytes(blake2b(word, digest_size=LIMB).digest(), "little")
    more, at = long[sizes[long] <= LONG], LIMB
    while more.size:
        found[more] = folded(found[more], limb(text, starts[more] + at, sizes[more] - at), factors)
        at += LIMB
        more = more[sizes[more] > at]
    return found


def folded(number: Numbers, other: Numbers, factors: Numbers = FACTORS) -> Numbers:
    """A number for two in this order."""
    found: Numbers = number * factors[0]
    found ^= found >> _SHIFTS[0]
    found += other
    found *= factors[1]
    found ^= found >> _SHIFTS[1]
    return found
