"""The numbers of the C++ headers are those of mgpu_trace.layout."""

from __future__ import annotations

from pathlib import Path

from cuda.tools import gxx, run

from mgpu_trace import layout
from mgpu_trace.layout import Scope

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdio>
#include "mgpu_trace_format.hpp"
using namespace mgpu_trace;
int main() {
  std::printf("%u %u %u %u %u %u ", start_word, sm_word, used_word, header_words, words_per_event, exit_bit);
  std::printf("%u %u\n", static_cast<unsigned>(Scope::warp), static_cast<unsigned>(Scope::warpgroup));
  for (unsigned words = 4; words < 40; ++words) std::printf("%u ", capacity_events(words));
  for (unsigned events = 1; events < 40; ++events) std::printf("%u ", words_for(events));
}
"""


def test_numbers_agree(tmp_path: Path) -> None:
    (tmp_path / "layout.cpp").write_text(SOURCE)
    said = run(gxx(tmp_path / "layout.cpp", tmp_path / "layout"))
    first, second = ([int(n) for n in line.split()] for line in said.splitlines())
    assert first == [
        layout.START_WORD,
        layout.SM_WORD,
        layout.USED_WORD,
        layout.HEADER_WORDS,
        layout.WORDS_PER_EVENT,
        layout.EXIT_BIT,
        Scope.WARP.value,
        Scope.WARPGROUP.value,
    ]
    assert second[:36] == [layout.capacity_events(words) for words in range(4, 40)]
    for n_events, words in enumerate(second[36:], 1):
        assert words % 2 == 0
        assert layout.capacity_events(words) == n_events
        assert layout.capacity_events(words - 2) < n_events
