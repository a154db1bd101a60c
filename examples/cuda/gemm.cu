// Runs the kernel of gemm_kernel.cuh, checks its result, and writes what was recorded:
//
//   ./gemm [NAME]    writes NAME.npy and NAME.json; the default is gemm
#include <cstdio>
#include <string>
#include <vector>

#include <mgpu_trace_host.hpp>

#include "gemm_kernel.cuh"

namespace {

constexpr int m = 512, n = 512, k = 256;

bool failed(const std::string& message) {
  if (!message.empty()) std::fprintf(stderr, "gemm: %s\n", message.c_str());
  return !message.empty();
}

bool failed(cudaError_t code) {
  return failed(code == cudaSuccess ? "" : std::string(cudaGetErrorString(code)));
}

float element_a(int row, int column) { return static_cast<float>((row * 3 + column) % 7 - 3); }
float element_b(int row, int column) { return static_cast<float>((row + column * 5) % 9 - 4); }

// Small whole numbers: float32 gives their sums exactly.
bool is_right(const std::vector<float>& c) {
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      float want = 0;
      for (int i = 0; i < k; ++i) want += element_a(row, i) * element_b(i, column);
      if (c[static_cast<size_t>(row) * n + column] != want) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = element_a(i / k, i % k);
  for (int i = 0; i < k * n; ++i) b[i] = element_b(i / n, i % n);
  float *device_a, *device_b, *device_c;
  if (failed(cudaMalloc(&device_a, sizeof(float) * a.size())) ||
      failed(cudaMalloc(&device_b, sizeof(float) * b.size())) ||
      failed(cudaMalloc(&device_c, sizeof(float) * c.size())) ||
      failed(cudaMemcpy(device_a, a.data(), sizeof(float) * a.size(), cudaMemcpyHostToDevice)) ||
      failed(cudaMemcpy(device_b, b.data(), sizeof(float) * b.size(), cudaMemcpyHostToDevice)))
    return 1;

  const dim3 grid(n / gemm::tile_n, m / gemm::tile_m);
  const dim3 block(gemm::n_threads);
  mgpu_trace::Trace trace;
  if (failed(trace.open(mgpu_trace::launch_of<gemm::Recorder>("gemm", grid, block, gemm::words_per_track(k)))
                 .message))
    return 1;
  const size_t shared_bytes = trace.shared_bytes(gemm::kernel_bytes);
  gemm::kernel<<<grid, block, shared_bytes>>>(device_a, device_b, device_c, n, k, trace.device());
  if (failed(cudaGetLastError())) return 1;
  if (failed(trace.write(argc > 1 ? argv[1] : "gemm").message)) return 1;

  if (failed(cudaMemcpy(c.data(), device_c, sizeof(float) * c.size(), cudaMemcpyDeviceToHost))) return 1;
  return failed(is_right(c) ? "" : "the result is wrong") ? 1 : 0;
}
