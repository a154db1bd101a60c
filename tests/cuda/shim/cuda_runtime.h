// Stands in for the CUDA runtime where the headers run on a CPU: a block's threads are calls, one after the
// other or by turns; device memory is host memory; clock, global timer and SM id are what the test says.
//
// SHIM_FAIL=NAME in the environment makes the runtime call of that name fail; "launch" is a launch that is
// refused, "kernel" one that fails while it runs, and "before" an error that is left when the program begins.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define __host__
#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

// What the GPU would say to the thread that asks.
namespace shim {

inline constexpr uint32_t trapped = 86;           // exit status of a kernel that stopped itself
inline constexpr uint32_t shared_base = 1024;     // address of the first byte of shared memory
inline constexpr size_t shared_limit = 1u << 16;  // bytes of it, more than any launch here asks for

// The runner's array of that many bytes.
inline unsigned char* shared = nullptr;
inline uint32_t dynamic_shared_bytes;
inline thread_local uint32_t clock, globaltimer_ns, sm_id;
// Where it runs, every reading of the clock is a new one, in all threads.
inline bool ticks = false;
inline std::atomic<uint32_t> tick{0};

// The name, rate and memory of the device; the test sets the first two.
inline char device_name[256] = "shim";
inline int clock_khz = 0;
inline int allocations = 0;
// What cudaGetLastError() will say, and whether a kernel failed that nobody waited for yet.
inline bool failed = false, kernel_failed = false;

[[noreturn]] inline void wrong(const char* what) {
  std::fprintf(stderr, "shim: %s\n", what);
  std::exit(3);
}

inline bool fails(const char* call) {
  const char* chosen = std::getenv("SHIM_FAIL");
  return chosen != nullptr && std::strcmp(chosen, call) == 0;
}

// In the place of <<<>>>: whether the kernel is to run.
inline bool launches() {
  failed = failed || fails("launch");
  kernel_failed = fails("kernel");
  return !fails("launch") && !kernel_failed;
}

}  // namespace shim

#define MGPU_TRACE_HARDWARE

namespace mgpu_trace::hardware {

inline uint32_t globaltimer_ns() { return shim::globaltimer_ns; }
inline uint32_t sm_id() { return shim::sm_id; }
inline uint32_t dynamic_shared_bytes() { return shim::dynamic_shared_bytes; }

inline uint32_t shared_address(const void* pointer) {
  const auto offset = static_cast<const unsigned char*>(pointer) - shim::shared;
  if (offset < 0 || offset > static_cast<std::ptrdiff_t>(shim::shared_limit))
    shim::wrong("not shared memory");
  return shim::shared_base + static_cast<uint32_t>(offset);
}

inline void store_event(bool stores, uint32_t address, uint32_t tag) {
  if (!stores) return;
  if (address % 8 != 0) shim::wrong("a pair stored at an address that is not a multiple of 8");
  if (address < shim::shared_base || address - shim::shared_base > shim::shared_limit - 8)
    shim::wrong("a stray store");
  const uint32_t pair[2] = {tag, shim::ticks ? ++shim::tick : shim::clock};
  std::memcpy(shim::shared + (address - shim::shared_base), pair, sizeof pair);
}

template <typename Value>
void keep_register(Value&) {}

[[noreturn]] inline void stop() {
  std::fprintf(stderr, "shim: the kernel stopped itself\n");
  std::exit(shim::trapped);
}

}  // namespace mgpu_trace::hardware

// The calls of the CUDA runtime that the host part makes.

enum cudaError_t { cudaSuccess, cudaErrorUnknown };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost };
enum cudaDeviceAttr { cudaDevAttrClockRate = 13 };

struct cudaDeviceProp {
  char name[256];
};

#define SHIM_CALL(name) \
  if (shim::fails(#name)) return shim::failed = true, cudaErrorUnknown

inline const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "made to fail";
}
inline cudaError_t cudaGetLastError() {
  return std::exchange(shim::failed, false) ? cudaErrorUnknown : cudaSuccess;
}

inline cudaError_t cudaMalloc(void** memory, size_t n_bytes) {
  SHIM_CALL(cudaMalloc);
  *memory = std::malloc(n_bytes);
  std::memset(*memory, 0xa5, n_bytes);
  ++shim::allocations;
  return cudaSuccess;
}

inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  --shim::allocations;
  return cudaSuccess;
}

inline cudaError_t cudaMemset(void* memory, int value, size_t n_bytes) {
  SHIM_CALL(cudaMemset);
  std::memset(memory, value, n_bytes);
  return cudaSuccess;
}

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n_bytes, cudaMemcpyKind) {
  SHIM_CALL(cudaMemcpy);
  std::memcpy(to, from, n_bytes);
  return cudaSuccess;
}

inline cudaError_t cudaDeviceSynchronize() {
  SHIM_CALL(cudaDeviceSynchronize);
  if (std::exchange(shim::kernel_failed, false)) return shim::failed = true, cudaErrorUnknown;
  return cudaSuccess;
}

inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }

inline cudaError_t cudaGetDevice(int* device) {
  SHIM_CALL(cudaGetDevice);
  *device = 0;
  return cudaSuccess;
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  SHIM_CALL(cudaGetDeviceProperties);
  std::memcpy(properties->name, shim::device_name, sizeof properties->name);
  return cudaSuccess;
}

inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  SHIM_CALL(cudaDeviceGetAttribute);
  *value = shim::clock_khz;
  return cudaSuccess;
}
