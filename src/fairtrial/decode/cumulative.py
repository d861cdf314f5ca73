"""SGLang's own ``/generate`` route: each chunk of a stream may repeat the answer so far."""

from collections.abc import Mapping
from itertools import pairwise

from fairtrial.decode.pieces import Piece, id_list
from fairtrial.decode.values import ShapeError, count_of, object_at, text_at


class RepeatedAnswer:
    """Takes ``text``, ``output_ids`` and ``meta_info`` chunks and tells what each of them adds.

    By default text and ids are those of the whole answer so far. With ``incremental_streaming_output``
    both are what is new; with the older ``stream_output`` only the ids are. Nothing in a chunk says
    which: the count of tokens beside the ids does, and where the text is no beginning of the next one
    it isn't repeated.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._ids: list[int] = []
        self._repeats: bool | None = None
        """Whether the ids are repeated; None until a second chunk with ids shows it."""

    def piece(self, chunk: Mapping[str, object], meta: Mapping[str, object]) -> Piece:
        """What a chunk adds.

        Raises:
            ShapeError: A known key with a value of the wrong shape, or ids that changed afterwards.
        """
        ids = self._new_ids(id_list(chunk, "output_ids"), count_of(meta.get("completion_tokens")))
        text = text_at(chunk, "text")
        before = self._texts[-1] if self._texts else ""
        if chunk.get("text") is not None:
            self._texts.append(text)
        finish, error = _finish(meta)
        return Piece(
            content=text.removeprefix(before),
            ids=ids,
            finish_reason=finish,
            usage=meta,
            error=error,
        )

    def text(self) -> str:
        """The answer's text, as far as it came."""
        texts = self._texts
        if not texts:
            return ""
        return texts[-1] if self._text_repeats(texts) else "".join(texts)

    def _text_repeats(self, texts: list[str]) -> bool:
        if self._repeats:
            return True
        # Without ids it is an older server, which repeats; the last text may lack a stop string.
        checked = texts[:-1] if self._repeats is None and texts[-1] else texts
        return all(later.startswith(earlier) for earlier, later in pairwise(checked))

    def _new_ids(self, ids: tuple[int, ...], total: int | None) -> tuple[int, ...]:
        known = len(self._ids)
        if ids and known:
            same = list(ids[:known]) == self._ids
            repeats = same if total not in {len(ids), len(ids) + known} else total == len(ids)
            if repeats and not same:
                raise ShapeError("output_ids changed what they said before")
            self._repeats = repeats
            ids = ids[known:] if repeats else ids
        self._ids.extend(ids)
        return ids


def _finish(meta: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Why the answer ended, and the server's message where that is a failure with a status."""
    reason = meta.get("finish_reason")
    if reason is None or isinstance(reason, str):
        return reason or None, None
    details = object_at(meta, "finish_reason") or {}
    failed = details.get("status_code") is not None
    return text_at(details, "type") or None, text_at(details, "message") if failed else None
