// What the device part (mgpu_trace.cuh) and the host part (mgpu_trace_host.hpp) of a CUDA program share:
// the words of a track, the threads that share one, the names of regions. C++17, includes nothing of CUDA.
//
// docs/format.md describes the buffer word by word; the numbers here are the same as in mgpu_trace/layout.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define MGPU_TRACE_BOTH __host__ __device__
#else
#define MGPU_TRACE_BOTH
#endif

// -DMGPU_TRACE_DISABLE takes all recorders out of a program.
#ifdef MGPU_TRACE_DISABLE
#define MGPU_TRACE_ENABLED false
#else
#define MGPU_TRACE_ENABLED true
#endif

namespace mgpu_trace {

inline constexpr uint32_t start_word = 0;
inline constexpr uint32_t sm_word = 1;
inline constexpr uint32_t used_word = 2;
inline constexpr uint32_t header_words = 3;
inline constexpr uint32_t words_per_event = 2;
inline constexpr uint32_t word_bytes = 4;
inline constexpr uint32_t exit_bit = 1u << 31;

// An event is stored as one pair of words, and that needs 8 bytes of alignment in shared memory.
inline constexpr uint32_t pair_bytes = words_per_event * word_bytes;
// The smallest even number of words that has room for an event.
inline constexpr uint32_t min_words_per_track = 6;

// Which threads share a track: the value is their number.
enum class Scope : uint32_t { warp = 32, warpgroup = 128 };

// Whole events that fit into a track.
MGPU_TRACE_BOTH constexpr uint32_t capacity_events(uint32_t words_per_track) {
  return words_per_track < header_words ? 0 : (words_per_track - header_words) / words_per_event;
}

// The words of a track that has room for so many events; even, as it must be.
MGPU_TRACE_BOTH constexpr uint32_t words_for(uint32_t n_events) {
  return header_words + 1 + n_events * words_per_event;
}

// Where the tracks of a block begin behind the shared memory that the kernel itself uses.
MGPU_TRACE_BOTH constexpr size_t area_offset_bytes(size_t kernel_bytes) {
  return (kernel_bytes + pair_bytes - 1) / pair_bytes * pair_bytes;
}

// What a kernel is given: where its tracks go in global memory. A null pointer records nothing.
struct DeviceTrace {
  uint32_t* words = nullptr;
  uint32_t words_per_track = 0;
};

// Tracks of a block in static shared memory: `__shared__ mgpu_trace::Area<3, 256> area;`.
template <uint32_t Tracks, uint32_t WordsPerTrack>
struct Area {
  static_assert(Tracks > 0, "a block has at least one track");
  static_assert(WordsPerTrack % 2 == 0, "words per track must be even: events are stored as pairs");
  static_assert(WordsPerTrack >= min_words_per_track, "a track has at least 6 words: 3 of header, an event");
  alignas(pair_bytes) uint32_t words[Tracks * WordsPerTrack];
};

MGPU_TRACE_BOTH constexpr bool same_text(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

// Region names in the order of their ids.
template <size_t N>
struct NameTable {
  static constexpr uint32_t count = N;
  const char* text[N];

  // The id of a name; `count` where there is no such name.
  MGPU_TRACE_BOTH constexpr uint32_t id(const char* name) const {
    uint32_t i = 0;
    while (i < count && !same_text(text[i], name)) ++i;
    return i;
  }

  MGPU_TRACE_BOTH constexpr bool distinct() const {
    for (uint32_t i = 0; i < count; ++i) {
      if (id(text[i]) != i) return false;
    }
    return true;
  }
};

template <typename... Text>
MGPU_TRACE_BOTH constexpr NameTable<sizeof...(Text)> name_table(const Text&... text) {
  return {{text...}};
}

// A name's id, known when the program is compiled.
template <typename Names, uint32_t Id>
struct NameId {
  static_assert(Id < decltype(Names::table())::count, "this name is not in the recorder's MGPU_TRACE_NAMES");
  static constexpr uint32_t value = Id;
};

template <typename Recorder>
using NamesOf = typename std::remove_cv_t<std::remove_reference_t<Recorder>>::Names;

}  // namespace mgpu_trace

// MGPU_TRACE_NAMES(GemmNames, "load", "mma") at namespace scope: a type that holds the names; "load" has id
// 0.
#define MGPU_TRACE_NAMES(type, ...)                                                                 \
  struct type {                                                                                     \
    MGPU_TRACE_BOTH static constexpr auto table() { return ::mgpu_trace::name_table(__VA_ARGS__); } \
  };                                                                                                \
  static_assert(type::table().distinct(), "a name is given twice in MGPU_TRACE_NAMES")

// The id of a name in the list of a recorder. An unknown name does not compile.
#define MGPU_TRACE_ID(recorder, name)                              \
  (::mgpu_trace::NameId<::mgpu_trace::NamesOf<decltype(recorder)>, \
                        ::mgpu_trace::NamesOf<decltype(recorder)>::table().id(name)>::value)
