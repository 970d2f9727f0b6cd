"""Words of texts as numbers that are equal where the words are."""

from turnwise.words.choices import same_choice
from turnwise.words.counts import word_count
from turnwise.words.grams import grams
from turnwise.words.squad import same_words, shared_words

__all__ = ["grams", "same_choice", "same_words", "shared_words", "word_count"]
