// Record when the warps or warpgroups of a CUDA kernel enter and leave its regions. Header only, C++17.
//
//   MGPU_TRACE_NAMES(Names, "load", "mma");
//   using Recorder = mgpu_trace::Recorder<mgpu_trace::Scope::warpgroup, Names>;
//
//   __global__ void kernel(float* data, mgpu_trace::DeviceTrace trace) {
//     extern __shared__ unsigned char shared[];
//     Recorder recorder(trace, shared, kernel_bytes);
//     {
//       MGPU_TRACE_REGION(recorder, "load");  // left at the end of this scope
//       ...
//     }
//   }  // the recorder's destructor writes the track
//
// The buffer has exactly the words of docs/format.md, as JAX's profiler writes them with its bounds check on:
// what does not fit is dropped, so a track is a prefix of what happened. The host part is
// mgpu_trace_host.hpp, and docs/cuda.md has the rest.
//
// A kernel has one recorder: a second one would write over the first one's track. Functions take it by
// reference.
//
// Only memory accesses keep their place among the events. Arithmetic on registers may move out of its region,
// and a load is in it with its issue only: the wait counts where the value is first used.
// MGPU_TRACE_KEEP(recorder, value) ties a value to the place where it stands.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

#include "mgpu_trace_format.hpp"

// Everything that only a GPU has. tests/cuda/shim puts its own in place, to run the rest of this file on a
// CPU.
#ifndef MGPU_TRACE_HARDWARE
#define MGPU_TRACE_HARDWARE

namespace mgpu_trace::hardware {

__device__ __forceinline__ uint32_t globaltimer_ns() {
  uint32_t ns;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(ns)::"memory");
  return ns;
}

__device__ __forceinline__ uint32_t sm_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Bytes of dynamic shared memory that the launch asked for.
__device__ __forceinline__ uint32_t dynamic_shared_bytes() {
  uint32_t bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// The clock is read by the store itself, so nothing can come between the two. The predicate saves a branch;
// the clobber keeps the loads and stores of a region inside it, and nothing else.
__device__ __forceinline__ void store_event(bool stores, uint32_t address, uint32_t tag) {
  asm volatile(
      "{\n\t"
      ".reg .pred stores;\n\t"
      "setp.ne.u32 stores, %0, 0;\n\t"
      "@stores st.shared.v2.u32 [%1], {%2, %%clock};\n\t"
      "}" ::"r"(static_cast<uint32_t>(stores)),
      "r"(address), "r"(tag)
      : "memory");
}

// A load that never happens, for no grid has a size of 0, but that the assembler has to take for one: the value
// is ready before it and comes out of it, and as a volatile access it stays between the events. An empty asm
// statement holds only the compiler; the assembler behind it moves arithmetic over the events.
// Each asks for the grid anew: of several with one predicate the assembler makes a branch.
#define MGPU_TRACE_KEEP_AS(type, constraint, bits)                 \
  __device__ __forceinline__ void keep_register(type& value) {     \
    asm volatile(                                                  \
        "{\n\t"                                                    \
        ".reg .pred never;\n\t"                                    \
        ".reg .u32 blocks;\n\t"                                    \
        "mov.u32 blocks, %%nctaid.x;\n\t"                          \
        "setp.eq.u32 never, blocks, 0;\n\t"                        \
        "@never ld.volatile.shared." bits " %0, [blocks];\n\t"     \
        "}"                                                        \
        : constraint(value)::"memory");                            \
  }
MGPU_TRACE_KEEP_AS(float, "+f", "b32")
MGPU_TRACE_KEEP_AS(double, "+d", "b64")
MGPU_TRACE_KEEP_AS(uint32_t, "+r", "b32")
MGPU_TRACE_KEEP_AS(uint64_t, "+l", "b64")
#undef MGPU_TRACE_KEEP_AS

__device__ __forceinline__ void stop() { __trap(); }

}  // namespace mgpu_trace::hardware
#endif  // MGPU_TRACE_HARDWARE

namespace mgpu_trace {

// Any value of a register or two: integers, pointers, pairs of half or of float.
template <typename Value>
__device__ __forceinline__ void keep(Value& value) {
  static_assert(sizeof(Value) == 4 || sizeof(Value) == 8, "what is kept has 4 or 8 bytes");
  static_assert(std::is_trivially_copyable_v<Value>, "what is kept is plain data");
  if constexpr (std::is_same_v<Value, float> || std::is_same_v<Value, double>) {
    hardware::keep_register(value);
  } else {
    std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t> bits;
    memcpy(&bits, &value, sizeof bits);
    hardware::keep_register(bits);
    memcpy(&value, &bits, sizeof bits);
  }
}

// The recorder of one thread. Every thread of the block makes one, and only one; only the first thread of each warp or
// warpgroup stores, so a call counts where that thread reaches it.
//
// A launch that cannot be right stops the kernel: an odd number of words, too little shared memory.
template <Scope scope_, typename Names_, bool Enabled = MGPU_TRACE_ENABLED>
class Recorder {
 public:
  using Names = Names_;
  static constexpr Scope scope = scope_;
  static constexpr bool enabled = true;

  // The tracks lie behind `kernel_bytes` of the dynamic shared memory that begins at `shared`.
  __device__ __forceinline__ Recorder(DeviceTrace trace, void* shared, size_t kernel_bytes = 0) {
    const size_t offset_bytes = area_offset_bytes(kernel_bytes);
    const size_t area_bytes = size_t{tracks()} * trace.words_per_track * word_bytes;
    if (trace.words != nullptr && offset_bytes + area_bytes > hardware::dynamic_shared_bytes())
      hardware::stop();
    begin(trace, reinterpret_cast<uint32_t*>(static_cast<unsigned char*>(shared) + offset_bytes));
  }

  template <uint32_t Tracks, uint32_t WordsPerTrack>
  __device__ __forceinline__ Recorder(DeviceTrace trace, Area<Tracks, WordsPerTrack>& area) {
    if (trace.words != nullptr && (trace.words_per_track != WordsPerTrack || tracks() > Tracks))
      hardware::stop();
    begin(trace, area.words);
  }

  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  __device__ __forceinline__ ~Recorder() { finish(); }

  __device__ __forceinline__ void enter(uint32_t name_id) { record(name_id); }
  __device__ __forceinline__ void exit(uint32_t name_id) { record(name_id | exit_bit); }

  // Have the value here: what makes it is done before this, and what uses it comes after.
  template <typename Value>
  __device__ __forceinline__ void keep(Value& value) {
    ::mgpu_trace::keep(value);
  }

  // Write the track to global memory; the destructor does it where this was not called. Each warp or
  // warpgroup can finish on its own, since nothing here waits for the others. Events after it are dropped.
  __device__ __forceinline__ void finish() {
    if (row_ == nullptr) return;
    const uint32_t used = (next_ - hardware::shared_address(events_)) / word_bytes;
    row_[start_word] = start_ns_;
    row_[sm_word] = hardware::sm_id();
    row_[used_word] = used;
    for (uint32_t i = 0; i < used; ++i) row_[header_words + i] = events_[i];
    row_ = nullptr;
    end_ = next_;
  }

 private:
  static constexpr uint32_t threads = static_cast<uint32_t>(scope_);

  __device__ __forceinline__ static uint32_t tracks() {
    return blockDim.x * blockDim.y * blockDim.z / threads;
  }

  // x is the slowest, as in JAX's buffers.
  __device__ __forceinline__ static size_t block() {
    return (size_t{blockIdx.x} * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z;
  }

  __device__ __forceinline__ void begin(DeviceTrace trace, uint32_t* area) {
    const uint32_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const uint32_t unit = thread / threads;
    // A block that is no whole number of units has no track for the rest.
    if (trace.words != nullptr && thread % threads == 0 && unit < tracks()) {
      events_ = area + size_t{unit} * trace.words_per_track;
      row_ = trace.words + (block() * tracks() + unit) * trace.words_per_track;
      next_ = hardware::shared_address(events_);
      end_ = next_ + capacity_events(trace.words_per_track) * pair_bytes;
      if (trace.words_per_track % 2 != 0 || next_ % pair_bytes != 0) hardware::stop();
    }
    start_ns_ = hardware::globaltimer_ns();
  }

  // Threads that do not store have no room, and so need no test of their own.
  __device__ __forceinline__ void record(uint32_t tag) {
    const bool fits = next_ < end_;
    hardware::store_event(fits, next_, tag);
    if (fits) next_ += pair_bytes;
  }

  const uint32_t* events_ = nullptr;  // the track in shared memory, without its header
  uint32_t* row_ = nullptr;           // the track in global memory; null where this thread writes none
  uint32_t next_ = 0;                 // shared addresses of the next event, and of the end of the track
  uint32_t end_ = 0;
  uint32_t start_ns_ = 0;
};

// The recorder that is not there: a kernel with it compiles to what it would without.
template <Scope scope_, typename Names_>
class Recorder<scope_, Names_, false> {
 public:
  using Names = Names_;
  static constexpr Scope scope = scope_;
  static constexpr bool enabled = false;

  __device__ __forceinline__ Recorder(DeviceTrace, void*, size_t = 0) {}
  template <uint32_t Tracks, uint32_t WordsPerTrack>
  __device__ __forceinline__ Recorder(DeviceTrace, Area<Tracks, WordsPerTrack>&) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  __device__ __forceinline__ ~Recorder() {}

  __device__ __forceinline__ void enter(uint32_t) {}
  __device__ __forceinline__ void exit(uint32_t) {}
  template <typename Value>
  __device__ __forceinline__ void keep(Value&) {}
  __device__ __forceinline__ void finish() {}
};

// A region that lasts as long as the scope that it is in.
template <typename Recorder>
class Region {
 public:
  __device__ __forceinline__ Region(Recorder& recorder, uint32_t name_id)
      : recorder_(recorder), name_id_(name_id) {
    recorder_.enter(name_id_);
  }
  __device__ __forceinline__ ~Region() { recorder_.exit(name_id_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  Recorder& recorder_;
  uint32_t name_id_;
};

}  // namespace mgpu_trace

#define MGPU_TRACE_JOIN_(a, b) a##b
#define MGPU_TRACE_JOIN(a, b) MGPU_TRACE_JOIN_(a, b)

// Enter the region now, and leave it at the end of the enclosing scope.
#define MGPU_TRACE_REGION(recorder, name)                                                       \
  [[maybe_unused]] const ::mgpu_trace::Region MGPU_TRACE_JOIN(mgpu_trace_region_, __COUNTER__)( \
      recorder, MGPU_TRACE_ID(recorder, name))

// For regions that are no scope: a producer's, say, that is left in another iteration.
#define MGPU_TRACE_ENTER(recorder, name) (recorder).enter(MGPU_TRACE_ID(recorder, name))
#define MGPU_TRACE_EXIT(recorder, name) (recorder).exit(MGPU_TRACE_ID(recorder, name))

// Tie a value to this place among the events: a variable of 4 or 8 bytes. At the end of a region its arithmetic
// stays in the region, and so does the wait for a load; at the beginning it does not start before.
#define MGPU_TRACE_KEEP(recorder, value) (recorder).keep(value)
