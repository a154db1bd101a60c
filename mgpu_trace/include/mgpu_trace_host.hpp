// The host part of a trace: the buffer on the device, and the files that mgpu-trace reads. Header only,
// C++17, needs nothing but the CUDA runtime. A plain C++ compiler takes it, too.
//
//   mgpu_trace::Trace trace;
//   auto status = trace.open(mgpu_trace::launch_of<Recorder>("gemm", grid, block, 256));
//   gemm<<<grid, block, trace.shared_bytes(kernel_bytes)>>>(..., trace.device());
//   if (status.ok()) status = trace.write("gemm");  // gemm.npy and gemm.json
//   if (!status.ok()) std::fprintf(stderr, "%s\n", status.message.c_str());
//
// Nothing here throws: what went wrong is a Status that says where. Where the recorder is disabled all of it
// does nothing, and that is fine.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "mgpu_trace_files.hpp"
#include "mgpu_trace_format.hpp"

namespace mgpu_trace {

// What is known of a launch; it becomes the sidecar (docs/spec.md).
struct Launch {
  std::string kernel;
  dim3 grid{1, 1, 1};
  dim3 block{1, 1, 1};
  uint32_t words_per_track = 0;
  Scope scope = Scope::warpgroup;
  std::vector<std::string> names;
  bool enabled = MGPU_TRACE_ENABLED;

  size_t tracks_per_block() const noexcept {
    return size_t{block.x} * block.y * block.z / static_cast<uint32_t>(scope);
  }
};

// A launch whose scope and names are those of the kernel's recorder, and which is off where that is.
template <typename Recorder>
Launch launch_of(std::string kernel, dim3 grid, dim3 block, uint32_t words_per_track) {
  Launch launch{std::move(kernel), grid, block, words_per_track, Recorder::scope, {}, Recorder::enabled};
  for (const char* name : Recorder::Names::table().text) launch.names.emplace_back(name);
  return launch;
}

namespace host {

inline Status cuda(cudaError_t code, const std::string& place) {
  if (code == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());  // it is reported here, and not by whoever asks next
  return fault(place, cudaGetErrorString(code));
}

// A call that may fail without harm; its error is not left for whoever asks next.
inline bool succeeds(cudaError_t code) {
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
  return code == cudaSuccess;
}

struct Free {
  void operator()(uint32_t* words) const noexcept { succeeds(cudaFree(words)); }
};

// Makes a device the current one, and gives the former one back.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    succeeds(cudaGetDevice(&before_));
    succeeds(cudaSetDevice(device));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { succeeds(cudaSetDevice(before_)); }

 private:
  int before_ = 0;
};

inline std::string dims(const dim3& size) {
  return "[" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " + std::to_string(size.z) + "]";
}

// The driver's rate of the SM clock, its highest; CUDA 13 has it as an attribute only. 0 where it is not
// known.
inline int sm_clock_khz(int device) {
  int khz = 0;
  const bool known = succeeds(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device));
  return known && khz >= 1000 && khz <= 100000000 ? khz : 0;
}

inline std::string sidecar(const Launch& launch, int device, int64_t host_time_ns) {
  std::string out = "{\n  \"schema\": \"mgpu-trace/spec\",\n  \"version\": 1";
  const auto add = [&out](const char* field, const std::string& json) {
    ((((out += ",\n  \"") += field) += "\": ") += json);
  };
  std::string names;
  for (const std::string& name : launch.names) names += (names.empty() ? "" : ", ") + quoted(name);
  add("grid", dims(launch.grid));
  add("block", dims(launch.block));
  add("words_per_track", std::to_string(launch.words_per_track));
  add("scope", launch.scope == Scope::warp ? "\"warp\"" : "\"warpgroup\"");
  add("names", "[" + names + "]");
  add("word2", "\"used\"");
  add("bounds_checked", "true");
  if (!launch.kernel.empty()) add("kernel", quoted(launch.kernel));
  cudaDeviceProp properties{};
  if (succeeds(cudaGetDeviceProperties(&properties, device))) {
    add("device", quoted(properties.name));
    if (const int khz = sm_clock_khz(device)) {
      char mhz[32];
      std::snprintf(mhz, sizeof mhz, "%d.%03d", khz / 1000, khz % 1000);
      add("sm_clock_mhz", mhz);
    }
  }
  add("host_time_ns", std::to_string(host_time_ns));
  return out + "\n}\n";
}

}  // namespace host

// The buffer of one launch. It can be used again for the next one with clear(), and it can be moved.
class Trace {
 public:
  // Make room for the tracks of a launch on the current device, all zero. An error that an earlier call of
  // CUDA left is reported here: found after the launch, it would be taken for the launch's.
  [[nodiscard]] Status open(const Launch& launch) noexcept {
    words_.reset();
    off_ = !launch.enabled;
    if (off_) return {};
    if (Status status = host::cuda(cudaGetLastError(), "before Trace::open"); !status.ok()) return status;
    if (Status status = count_words(launch); !status.ok()) return status;
    launch_ = launch;
    if (Status status = host::cuda(cudaGetDevice(&device_), "Trace::open"); !status.ok()) return status;
    const std::string place = "cudaMalloc of " + std::to_string(n_bytes()) + " bytes for the trace";
    void* words = nullptr;
    if (Status status = host::cuda(cudaMalloc(&words, n_bytes()), place); !status.ok()) return status;
    words_.reset(static_cast<uint32_t*>(words));
    Status status = clear();
    if (!status.ok()) words_.reset();
    return status;
  }

  // Forget what was recorded, and wait until that is done.
  [[nodiscard]] Status clear() noexcept {
    if (off_) return {};
    if (words_ == nullptr) return not_open("clear");
    if (Status status = host::cuda(cudaGetLastError(), "before Trace::clear"); !status.ok()) return status;
    const host::OnDevice here(device_);
    if (Status status = host::cuda(cudaMemset(words_.get(), 0, n_bytes()), "clearing the trace"); !status.ok())
      return status;
    return host::cuda(cudaDeviceSynchronize(), "clearing the trace");
  }

  // The kernel's argument. Where the trace is not open it records nothing.
  DeviceTrace device() const noexcept { return {words_.get(), words_ == nullptr ? 0 : launch_.words_per_track}; }

  // The dynamic shared memory of the launch, where the kernel itself uses that much.
  size_t shared_bytes(size_t kernel_bytes) const noexcept {
    if (words_ == nullptr) return kernel_bytes;
    return area_offset_bytes(kernel_bytes) +
           launch_.tracks_per_block() * launch_.words_per_track * word_bytes;
  }

  // Wait for the device, then write NAME.npy and its sidecar NAME.json. Both are there, or none is new. A
  // launch that failed is reported, unless cudaGetLastError() was asked in between.
  [[nodiscard]] Status write(std::string name) noexcept {
    if (off_) return {};
    if (words_ == nullptr) return not_open("write");
    if (Status status = host::cuda(cudaGetLastError(), "the launch"); !status.ok()) return status;
    const size_t tail = name.size() < 4 ? 0 : name.size() - 4;
    if (name.compare(tail, std::string::npos, ".npy") == 0) name.resize(tail);
    if (name.empty() || name.back() == '/') return host::fault(name + ".npy", "this is no name for a file");
    const host::OnDevice here(device_);
    if (Status status = host::cuda(cudaDeviceSynchronize(), "the kernel"); !status.ok()) return status;
    const int64_t now_ns = host_time_ns();
    const std::unique_ptr<uint32_t[]> copy(new (std::nothrow) uint32_t[n_words_]);
    if (copy == nullptr)
      return host::fault(name + ".npy", "no memory for " + std::to_string(n_bytes()) + " bytes");
    const cudaError_t copied = cudaMemcpy(copy.get(), words_.get(), n_bytes(), cudaMemcpyDeviceToHost);
    if (Status status = host::cuda(copied, "copying the trace back"); !status.ok()) return status;
    return write_files(name, copy.get(), now_ns);
  }

 private:
  size_t n_bytes() const noexcept { return n_words_ * word_bytes; }

  static Status not_open(const char* doing) {
    return host::fault(std::string("Trace::") + doing, "the trace is not open");
  }

  static int64_t host_time_ns() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }

  Status count_words(const Launch& launch) {
    const std::string words = "words_per_track " + std::to_string(launch.words_per_track);
    const auto threads = static_cast<uint32_t>(launch.scope);
    if (launch.words_per_track < min_words_per_track)
      return host::fault("Trace::open", words + " is below 6: no event fits");
    if (launch.words_per_track % 2 != 0)
      return host::fault("Trace::open", words + " is odd: events are stored as pairs");
    size_t count = launch.words_per_track;
    for (const uint32_t size :
         {launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z}) {
      if (size == 0) return host::fault("Trace::open", "grid or block has a size of 0");
      if (count > SIZE_MAX / word_bytes / size) return host::fault("Trace::open", "the trace is too large");
      count *= size;
    }
    if (size_t{launch.block.x} * launch.block.y * launch.block.z % threads != 0) {
      return host::fault("Trace::open", "block " + host::dims(launch.block) + " is not a multiple of " +
                                            std::to_string(threads) + " threads");
    }
    n_words_ = count / threads;
    return {};
  }

  Status write_files(const std::string& name, const uint32_t* words, int64_t now_ns) const {
    host::NewFile buffer(name + ".npy", now_ns);
    host::NewFile spec(name + ".json", now_ns);
    host::OldFile before(name + ".json", now_ns + 1);
    const std::string text = host::sidecar(launch_, device_, now_ns);
    if (Status status = buffer.write(host::npy_header(n_words_), words, n_bytes()); !status.ok())
      return status;
    if (Status status = spec.write(text); !status.ok()) return status;
    if (Status status = before.keep(); !status.ok()) return status;
    // The sidecar first: whoever finds the buffer finds it explained.
    if (Status status = spec.publish(); !status.ok()) return status;
    Status status = buffer.publish();
    if (!status.ok()) before.put_back();
    return status;
  }

  bool off_ = false;
  int device_ = 0;
  Launch launch_;
  std::unique_ptr<uint32_t, host::Free> words_;  // on the device
  size_t n_words_ = 0;
};

}  // namespace mgpu_trace
