"""Store of verdicts in a folder, by the content of what was judged, so that no judgment is paid for twice.

Each judge has its own file (`rollwise.jobs.store`), named by a digest of its configuration and of the columns that it reads. A
different template, model or parameter has a different file, so their verdicts are never mixed. The key of a verdict is a digest of
the texts. A verdict is stored as soon as it is there: it is not lost if the process is killed, and a power failure costs at most
the verdicts of a quarter of a second. Any number of processes may share a folder; none asks for what another one is asking for.

The file also holds a secret, the key of the check codes (`rollwise.judges.replies`): a question that is asked again in a later run
is the same text with the same code.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

import msgspec

from rollwise.jobs.identity import check_identified
from rollwise.jobs.store import Store
from rollwise.judges.replies import SECRET_BYTES
from rollwise.judges.verdicts import TEXT, Judge, Verdict

SYNC_EVERY = 0.25  # seconds
_CODES = "check codes"  # the key of the secret in the file; the keys of verdicts are digests
_verdicts = msgspec.json.Decoder(Verdict)


class VerdictStore(Store):
    """Stored verdicts of one judge; as a context manager, the right to add to them."""

    def __init__(self, folder: str | Path, judge: Judge) -> None:
        check_identified(judge.name, "verdicts", judge.configuration)
        self._columns = tuple(dict.fromkeys((TEXT, *judge.columns)))
        content = {"judge": judge.name, "configuration": judge.configuration, "columns": self._columns}
        configuration = msgspec.json.encode(content, enc_hook=repr, order="deterministic")
        super().__init__(folder, judge.name, configuration, sync_every=SYNC_EVERY, shared=True)

    def keep(self, verdicts: Mapping[str, Verdict]) -> None:
        """Store verdicts by key; they survive if the process is killed right afterwards."""
        self.put({key: msgspec.json.encode(verdict) for key, verdict in verdicts.items()})

    def verdicts(self, keys: Iterable[str]) -> dict[str, Verdict]:
        """Return the stored verdicts among these keys."""
        rows = self.read()
        return {key: _verdicts.decode(rows[key]) for key in keys if key in rows}

    def secret(self) -> bytes:
        """Return the secret of this judge's check codes, which is drawn and stored at first use."""
        # Two processes may draw one each at the same time: both are secret, and each process reads with its own.
        stored = self.read().get(_CODES)
        secret: str = token_hex(SECRET_BYTES) if stored is None else msgspec.json.decode(stored, type=str)
        if stored is None:
            self.put({_CODES: msgspec.json.encode(secret)})
        return bytes.fromhex(secret)


def key_of(texts: Sequence[str], sample: int) -> str:
    """Return the key of a judgment: a digest of the texts that the judge reads, sorted by their names, and the sample number."""
    return blake2b(msgspec.json.encode([texts, sample]), digest_size=16).hexdigest()
