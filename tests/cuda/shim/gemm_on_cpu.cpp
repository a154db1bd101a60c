// Runs the kernel of examples/cuda on a CPU, each thread of a block a thread, and checks what it multiplies.
//
//   gemm_on_cpu NAME    writes NAME.npy and NAME.json; status 1 where the product is wrong
#include <cuda_runtime.h>

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

// In the place of examples/cuda/named_barrier.cuh.
#define NAMED_BARRIER_CUH

namespace {

struct Barrier {
  std::mutex mutex;
  std::condition_variable opened;
  int arrived = 0;
  unsigned round = 0;
};

Barrier barriers[16];

// Come to a barrier; whether or not it opens now, go on.
unsigned come(Barrier& barrier, int n_threads) {
  const unsigned round = barrier.round;
  if (++barrier.arrived == n_threads) {
    barrier.arrived = 0;
    ++barrier.round;
    barrier.opened.notify_all();
  }
  return round;
}

void barrier_arrive(int id, int n_threads) {
  const std::lock_guard lock(barriers[id].mutex);
  come(barriers[id], n_threads);
}

void barrier_sync(int id, int n_threads) {
  Barrier& barrier = barriers[id];
  std::unique_lock lock(barrier.mutex);
  const unsigned round = come(barrier, n_threads);
  barrier.opened.wait(lock, [&] { return barrier.round != round; });
}

}  // namespace

#include "gemm_kernel.cuh"
#include "mgpu_trace_host.hpp"

namespace gemm {
alignas(16) unsigned char shared[shim::shared_limit];
}

namespace {

constexpr int m = 2 * gemm::tile_m, n = 3 * gemm::tile_n, k = 7 * gemm::tile_k;

struct Matrices {
  std::vector<float> a, b, c;
};

void run_thread(unsigned thread, dim3 grid, uint3 block, Matrices& data, mgpu_trace::DeviceTrace trace) {
  gridDim = grid;
  blockDim = dim3(gemm::n_threads);
  blockIdx = block;
  threadIdx = {thread, 0, 0};
  shim::sm_id = block.x + block.y * grid.x;
  shim::globaltimer_ns = 1024 * shim::sm_id;
  gemm::kernel(data.a.data(), data.b.data(), data.c.data(), n, k, trace);
}

bool is_right(const Matrices& data) {
  for (int i = 0; i < m * n; ++i) {
    float want = 0;
    for (int l = 0; l < k; ++l) want += data.a[i / n * k + l] * data.b[l * n + i % n];
    if (data.c[i] != want) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) shim::wrong("usage: gemm_on_cpu NAME");
  shim::shared = gemm::shared;
  shim::ticks = true;
  Matrices data{std::vector<float>(m * k), std::vector<float>(k * n), std::vector<float>(m * n)};
  for (int i = 0; i < m * k; ++i) data.a[i] = static_cast<float>(i % 7 - 3);
  for (int i = 0; i < k * n; ++i) data.b[i] = static_cast<float>(i % 11 - 5);

  const dim3 grid(n / gemm::tile_n, m / gemm::tile_m);
  mgpu_trace::Trace trace;
  const unsigned words = gemm::words_per_track(k);
  mgpu_trace::Status status =
      trace.open(mgpu_trace::launch_of<gemm::Recorder>("gemm", grid, gemm::n_threads, words));
  shim::dynamic_shared_bytes = static_cast<uint32_t>(trace.shared_bytes(gemm::kernel_bytes));
  for (unsigned y = 0; y < grid.y && status.ok(); ++y) {
    for (unsigned x = 0; x < grid.x; ++x) {
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < gemm::n_threads; ++i)
        threads.emplace_back(run_thread, i, grid, uint3{x, y, 0}, std::ref(data), trace.device());
      for (std::thread& thread : threads) thread.join();
    }
  }
  if (status.ok()) status = trace.write(argv[1]);
  if (!status.ok()) std::cerr << status.message << '\n';
  return status.ok() && is_right(data) ? 0 : 1;
}
