// A kernel whose events are known from its text: test_ptx.py looks for them in what nvcc makes of it.
#include "mgpu_trace.cuh"

MGPU_TRACE_NAMES(Names, "load", "mma", "store");

template <mgpu_trace::Scope scope>
__device__ __forceinline__ void body(float* data, mgpu_trace::DeviceTrace trace) {
  extern __shared__ unsigned char shared[];
  mgpu_trace::Recorder<scope, Names> recorder(trace, shared, 100);
  float value;
  {
    MGPU_TRACE_REGION(recorder, "load");
    value = data[threadIdx.x];
  }
  MGPU_TRACE_ENTER(recorder, "mma");
  value = value * value + 1.0f;
  MGPU_TRACE_EXIT(recorder, "mma");
  MGPU_TRACE_REGION(recorder, "store");
  data[threadIdx.x] = value;
}

extern "C" __global__ void by_warp(float* data, mgpu_trace::DeviceTrace trace) {
  body<mgpu_trace::Scope::warp>(data, trace);
}

extern "C" __global__ void by_warpgroup(float* data, mgpu_trace::DeviceTrace trace) {
  body<mgpu_trace::Scope::warpgroup>(data, trace);
}
