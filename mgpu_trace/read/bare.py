"""A buffer that nothing was said about: its spec from its content, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.layout import Scope
from mgpu_trace.model import U32
from mgpu_trace.read.fields import Said
from mgpu_trace.read.infer import infer_layout
from mgpu_trace.read.resolve import make_spec
from mgpu_trace.spec import TraceSpec

# 1024 threads per block at most, so eight warpgroups.
_MAX_WARPGROUPS = 8


def resolve_bare(
    said: Said, flat: U32, let_go: Callable[[], None]
) -> tuple[TraceSpec, tuple[Diagnostic, ...]]:
    """Infer the layout of ``flat`` (``(n_words,)``) and say so (MGT206).

    ``let_go`` is called between two looks at it.

    Raises
    ------
    MgpuTraceError
        MGT204 or MGT205 when no one layout stands out.
    """
    inferred = infer_layout(flat, let_go)
    per_block = inferred.tracks_per_block
    scope = said.get("scope", Scope.WARP if per_block > _MAX_WARPGROUPS else Scope.WARPGROUP)
    blocks = flat.size // inferred.words_per_track // per_block
    sentence = (
        f"{inferred.words_per_track} words per track ({inferred.sureness}): {inferred.evidence}; "
        f"shown as {counted(blocks, 'block')} of {counted(per_block, scope.label)}"
    )
    spec = make_spec(
        {**said, "scope": scope},
        grid=(blocks, 1, 1),
        block=(per_block * scope.value, 1, 1),
        words_per_track=inferred.words_per_track,
        assumed=(sentence,),
        word2=inferred.word2,
    )
    diagnostic = Diagnostic(
        catalogue.INFERRED_LAYOUT,
        f"inferred {sentence}",
        hint="give --grid, --block and --entries to be sure",
    )
    return spec, (diagnostic,)
