"""Words of texts as numbers that are equal where the words are."""

from turnwise.metrics.words.choices import same_choice
from turnwise.metrics.words.counts import word_count
from turnwise.metrics.words.grams import grams
from turnwise.metrics.words.squad import same_words, shared_words

__all__ = ["grams", "same_choice", "same_words", "shared_words", "word_count"]
