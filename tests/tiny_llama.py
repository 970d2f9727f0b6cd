"""A chat model that tests make themselves: random parameters, and a tokenizer of its own."""

from pathlib import Path

import pytest

TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<{{ message.role }}>{{ message.content }}</s>{% endfor %}<assistant>"
)


def save_tiny_llama(where: Path) -> Path:
    """A Llama of about 120,000 random parameters and its tokenizer, saved in a folder; skips where `transformers` is absent."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra local)")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra local)")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed (extra local)")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    special = ["<unk>", "</s>", "<system>", "<user>", "<assistant>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    bpe.train_from_iterator(["Tell me about the sea.", "The sea is wide.", "I can't help with that."], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, unk_token="<unk>", eos_token="</s>", model_input_names=["input_ids", "attention_mask"]
    )
    tokenizer.chat_template = TEMPLATE
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=600,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(where)
    tokenizer.save_pretrained(where)
    return where
