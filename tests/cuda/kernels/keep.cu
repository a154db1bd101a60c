// Two regions with nothing but arithmetic: test_keep.py looks where it is in what nvcc and ptxas make of them.
// -DLOOSE leaves MGPU_TRACE_KEEP out.
#include "mgpu_trace.cuh"

#ifdef LOOSE
#define KEEP(value)
#else
#define KEEP(value) MGPU_TRACE_KEEP(recorder, value)
#endif

MGPU_TRACE_NAMES(Names, "a", "b");

template <typename Value>
__device__ __forceinline__ void body(Value* data, Value a, Value b, mgpu_trace::DeviceTrace trace) {
  extern __shared__ unsigned char shared[];
  mgpu_trace::Recorder<mgpu_trace::Scope::warp, Names> recorder(trace, shared, 100);
  Value first = a, second = b;
  {
    MGPU_TRACE_REGION(recorder, "a");
    KEEP(first);
    for (int i = 0; i < 4; ++i) first = first * a + static_cast<Value>(1.25);
    KEEP(first);
  }
  {
    MGPU_TRACE_REGION(recorder, "b");
    KEEP(second);
    for (int i = 0; i < 4; ++i) second = second * b + static_cast<Value>(2.25);
    KEEP(second);
  }
  data[threadIdx.x] = first;
  data[threadIdx.x + 32] = second;
}

extern "C" __global__ void of_float(float* data, float a, float b, mgpu_trace::DeviceTrace trace) {
  body(data, a, b, trace);
}

extern "C" __global__ void of_double(double* data, double a, double b, mgpu_trace::DeviceTrace trace) {
  body(data, a, b, trace);
}

// Everything else that can be kept; it has to compile.
extern "C" __global__ void of_others(int* data, mgpu_trace::DeviceTrace trace) {
  __shared__ mgpu_trace::Area<4, 64> area;
  mgpu_trace::Recorder<mgpu_trace::Scope::warp, Names> recorder(trace, area);
  int number = data[threadIdx.x];
  unsigned long long wide = data[threadIdx.x + 32];
  float2 pair{1.0f * number, 2.0f};
  int* pointer = data + number;
  KEEP(number);
  KEEP(wide);
  KEEP(pair);
  KEEP(pointer);
  *pointer = number + static_cast<int>(wide) + static_cast<int>(pair.x * pair.y);
}
