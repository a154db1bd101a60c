// C = A * B in float32, row-major, by a block of three warpgroups: one loads tiles into a ring of stages in
// shared memory, two multiply what is there. It shows where to record, not how to be fast.
#pragma once

#include <mgpu_trace.cuh>

#include "named_barrier.cuh"

namespace gemm {

// The regions, in the order of their ids; both sides of the pipeline wait.
MGPU_TRACE_NAMES(Regions, "wait", "load", "mma", "store");
using Recorder = mgpu_trace::Recorder<mgpu_trace::Scope::warpgroup, Regions>;

constexpr int warpgroup = 128;
constexpr int n_producers = warpgroup;
constexpr int n_consumers = 2 * warpgroup;
constexpr int n_threads = n_producers + n_consumers;

constexpr int tile_m = 64;
constexpr int tile_n = 64;
constexpr int tile_k = 16;
constexpr int n_stages = 3;
constexpr int patch = 4;  // each consumer makes patch x patch elements of the tile

struct Stage {
  float a[tile_m][tile_k];
  float b[tile_k][tile_n];
};

constexpr size_t kernel_bytes = n_stages * sizeof(Stage);

// Barriers of a stage; number 0 is that of the whole block.
__device__ __forceinline__ int full(int stage) { return 1 + stage; }
__device__ __forceinline__ int empty(int stage) { return 1 + n_stages + stage; }

// Words that take all events of a warpgroup: four for each tile (wait and load, or wait and mma), two for the
// store. There is room for one more, because a track that is full may have lost something.
constexpr unsigned words_per_track(int k) {
  const unsigned n_events = 4 * static_cast<unsigned>(k / tile_k) + 2;
  return mgpu_trace::words_for(n_events + 1);
}

__device__ inline void produce(Recorder& recorder, Stage* stages, const float* a, const float* b, int n,
                               int k) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * tile_m;
  const int column = static_cast<int>(blockIdx.x) * tile_n;
  for (int tile = 0; tile < k / tile_k; ++tile) {
    const int at = tile % n_stages;
    if (tile >= n_stages) {
      MGPU_TRACE_REGION(recorder, "wait");
      barrier_sync(empty(at), n_threads);
    }
    {
      MGPU_TRACE_REGION(recorder, "load");
      Stage& stage = stages[at];
      for (int i = thread; i < tile_m * tile_k; i += n_producers)
        stage.a[i / tile_k][i % tile_k] = a[(row + i / tile_k) * k + tile * tile_k + i % tile_k];
      for (int i = thread; i < tile_k * tile_n; i += n_producers)
        stage.b[i / tile_n][i % tile_n] = b[(tile * tile_k + i / tile_n) * n + column + i % tile_n];
    }
    barrier_arrive(full(at), n_threads);
  }
}

__device__ inline void consume(Recorder& recorder, const Stage* stages, float* c, int n, int k) {
  const int thread = static_cast<int>(threadIdx.x) - n_producers;
  const int y = thread / (tile_n / patch) * patch;
  const int x = thread % (tile_n / patch) * patch;
  const int n_tiles = k / tile_k;
  float sum[patch][patch] = {};
  for (int tile = 0; tile < n_tiles; ++tile) {
    const int at = tile % n_stages;
    // The same as a region that is a scope, by calls.
    MGPU_TRACE_ENTER(recorder, "wait");
    barrier_sync(full(at), n_threads);
    MGPU_TRACE_EXIT(recorder, "wait");
    {
      MGPU_TRACE_REGION(recorder, "mma");
      const Stage& stage = stages[at];
      for (int l = 0; l < tile_k; ++l)
        for (int i = 0; i < patch; ++i)
          for (int j = 0; j < patch; ++j) sum[i][j] += stage.a[y + i][l] * stage.b[l][x + j];
      // The sums are in registers: without this some of their arithmetic would be done after the region.
      for (int i = 0; i < patch; ++i)
        for (int j = 0; j < patch; ++j) MGPU_TRACE_KEEP(recorder, sum[i][j]);
    }
    // The last stages are not filled again, and nobody would wait.
    if (tile + n_stages < n_tiles) barrier_arrive(empty(at), n_threads);
  }
  MGPU_TRACE_REGION(recorder, "store");
  float* corner =
      c + (static_cast<int>(blockIdx.y) * tile_m + y) * n + static_cast<int>(blockIdx.x) * tile_n + x;
  for (int i = 0; i < patch; ++i)
    for (int j = 0; j < patch; ++j) corner[i * n + j] = sum[i][j];
}

// Sizes are multiples of the tile's: the grid is (n / tile_n, m / tile_m).
__global__ void __launch_bounds__(n_threads)
    kernel(const float* a, const float* b, float* c, int n, int k, mgpu_trace::DeviceTrace trace) {
  extern __shared__ __align__(16) unsigned char shared[];
  Stage* stages = reinterpret_cast<Stage*>(shared);
  Recorder recorder(trace, shared, kernel_bytes);
  if (threadIdx.x < n_producers) {
    produce(recorder, stages, a, b, n, k);
  } else {
    consume(recorder, stages, c, n, k);
  }
}  // here each warpgroup writes its track

}  // namespace gemm
