"""Words of texts as numbers that are equal where the words are."""

from turnwise.words.counts import word_count
from turnwise.words.grams import grams
from turnwise.words.squad import same_words, shared_words

__all__ = ["grams", "same_words", "shared_words", "word_count"]
