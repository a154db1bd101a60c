// The same kernels with a recorder that is off and without one: what nvcc makes of them is compared.
//
// -DPLAIN=1 leaves the recorder out and the argument in, -DPLAIN=2 leaves out both. Else it is off by
// -DMGPU_TRACE_DISABLE or, with -DBY_PARAMETER, by the template's parameter.
#ifdef PLAIN
#define TRACED(...)
#define REGION(name)
#include <cstdint>
namespace mgpu_trace {
struct DeviceTrace {
  uint32_t* words = nullptr;
  uint32_t words_per_track = 0;
};
}  // namespace mgpu_trace
#else
#define TRACED(...) __VA_ARGS__
#define REGION(name) MGPU_TRACE_REGION(recorder, name)
#include "mgpu_trace.cuh"
MGPU_TRACE_NAMES(Names, "load", "mma", "store");
#ifdef BY_PARAMETER
using Recorder = mgpu_trace::Recorder<mgpu_trace::Scope::warp, Names, false>;
#else
using Recorder = mgpu_trace::Recorder<mgpu_trace::Scope::warp, Names>;
#endif
#endif

#if defined(PLAIN) && PLAIN == 2
#define ARGUMENT
#else
#define ARGUMENT , [[maybe_unused]] mgpu_trace::DeviceTrace trace
#endif

__global__ void dynamic_area(float* data, int n ARGUMENT) {
  extern __shared__ float tile[];
  TRACED(Recorder recorder(trace, tile, 128 * sizeof(float));)
  for (int i = 0; i < n; ++i) {
    {
      REGION("load");
      tile[threadIdx.x] = data[i * 128 + threadIdx.x];
    }
    __syncthreads();
    TRACED(MGPU_TRACE_ENTER(recorder, "mma");)
    float value = tile[127 - threadIdx.x] * 2.0f;
    TRACED(MGPU_TRACE_KEEP(recorder, value);)
    TRACED(MGPU_TRACE_EXIT(recorder, "mma");)
    __syncthreads();
    if (value < 0.0f) return;
    REGION("store");
    data[i * 128 + threadIdx.x] = value;
  }
  TRACED(recorder.finish();)
}

__global__ void static_area(float* data, int n ARGUMENT) {
  TRACED(__shared__ mgpu_trace::Area<4, 64> area;)
  TRACED(Recorder recorder(trace, area);)
  REGION("load");
  if (static_cast<int>(threadIdx.x) < n) data[threadIdx.x] += 1.0f;
}
