// Runs a launch that a test has scripted: the real recorder and the real host part, over the shim.
//
//   run_script SCRIPT NAME    writes NAME.npy and NAME.json; what went wrong goes to standard error, status 1
//
// SCRIPT is words apart by blanks (tests/cuda/scripted.py writes it):
//   how words grid block kernel_bytes given_bytes khz kernel device n_programs
//   and for each program: block unit start sm n_steps, and for each step: kind id clock
// Texts are in hexadecimal. A step enters (+) or leaves (-) a region by call, opens "(" or closes ")" one
// that is a scope, or finishes (f) the track.
#include <cuda_runtime.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mgpu_trace.cuh"
#include "mgpu_trace_host.hpp"

namespace {

MGPU_TRACE_NAMES(Names, "load", "wait", "mma", "say \"hi\" \\ \n\t\x01", "\xce\xb1\xce\xb2 \xf0\x9f\x94\xa5");

struct Step {
  char kind;
  uint32_t id, clock;
};

struct Program {
  uint32_t start_ns = 0, sm = 0;
  std::vector<Step> steps;
};

using Place = std::tuple<unsigned, unsigned, unsigned, unsigned>;  // block x, y, z and unit

struct Script {
  std::string scope, order, memory, enabled;
  mgpu_trace::Launch launch;
  size_t kernel_bytes = 0, given_bytes = 0;
  std::map<Place, Program> programs;
};

std::string from_hex(const std::string& text) {
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

Script read(const char* path) {
  Script script;
  std::ifstream in(path);
  std::string kernel, device;
  mgpu_trace::Launch& launch = script.launch;
  size_t n_programs = 0;
  in >> script.scope >> script.order >> script.memory >> script.enabled >> launch.words_per_track;
  in >> launch.grid.x >> launch.grid.y >> launch.grid.z >> launch.block.x >> launch.block.y >> launch.block.z;
  in >> script.kernel_bytes >> script.given_bytes >> shim::clock_khz >> kernel >> device >> n_programs;
  launch.kernel = from_hex(kernel);
  std::snprintf(shim::device_name, sizeof shim::device_name, "%s", from_hex(device).c_str());
  for (size_t i = 0; i < n_programs; ++i) {
    unsigned x, y, z, unit;
    size_t n_steps;
    in >> x >> y >> z >> unit;
    Program& program = script.programs[{x, y, z, unit}];
    in >> program.start_ns >> program.sm >> n_steps;
    program.steps.resize(n_steps);
    for (Step& step : program.steps) in >> step.kind >> step.id >> step.clock;
  }
  if (!in) shim::wrong("the script ends early");
  return script;
}

bool is_first(mgpu_trace::Scope scope) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return thread % static_cast<unsigned>(scope) == 0;
}

// Threads other than the unit's first see values that no test expects.
void look(mgpu_trace::Scope scope, const Program& program, uint32_t clock) {
  const bool first = is_first(scope);
  shim::globaltimer_ns = first ? program.start_ns : 0xbad00000u;
  shim::sm_id = first ? program.sm : 0xbad00001u;
  shim::clock = first ? clock : 0xbad00002u;
}

template <typename Recorder>
void by_call(Recorder& recorder, const Step& step) {
  if (step.kind == '+' || step.kind == '(') recorder.enter(step.id);
  if (step.kind == '-' || step.kind == ')') recorder.exit(step.id);
  if (step.kind == 'f') recorder.finish();
}

template <typename Recorder>
size_t scoped(Recorder& recorder, const Program& program, size_t i);

// The steps from i on, until the enclosing region closes; the clock is set to that of its closing.
template <typename Recorder>
size_t inside(Recorder& recorder, const Program& program, size_t i) {
  for (; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    look(Recorder::scope, program, step.clock);
    if (step.kind == ')') return i;
    if (step.kind == '(') {
      i = scoped(recorder, program, i);
    } else {
      by_call(recorder, step);
    }
  }
  return i;
}

// The region that step i opens, with all that is in it.
template <typename Recorder>
size_t scoped(Recorder& recorder, const Program& program, size_t i) {
  switch (program.steps[i].id) {
    case 0: {
      MGPU_TRACE_REGION(recorder, "load");
      return inside(recorder, program, i + 1);
    }
    case 1: {
      MGPU_TRACE_REGION(recorder, "wait");
      return inside(recorder, program, i + 1);
    }
    case 4: {
      MGPU_TRACE_REGION(recorder, "\xce\xb1\xce\xb2 \xf0\x9f\x94\xa5");
      return inside(recorder, program, i + 1);
    }
    default: {
      const mgpu_trace::Region region(recorder, program.steps[i].id);
      return inside(recorder, program, i + 1);
    }
  }
}

void at_thread(unsigned thread) {
  threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

alignas(16) unsigned char shared[shim::shared_limit];

using Area = mgpu_trace::Area<4, 16>;  // what a script's memory "area" means

template <typename Recorder>
std::unique_ptr<Recorder> recorder_of(const Script& script, mgpu_trace::DeviceTrace trace) {
  if (script.memory == "area")
    return std::make_unique<Recorder>(trace, *reinterpret_cast<Area*>(shim::shared));
  return std::make_unique<Recorder>(trace, shim::shared, script.kernel_bytes);
}

// One block. By turns, all threads take a step, then all take the next; else one after the other runs
// through.
template <typename Recorder>
void run_block(const Script& script, mgpu_trace::DeviceTrace trace) {
  const unsigned n_threads = blockDim.x * blockDim.y * blockDim.z;
  std::vector<std::unique_ptr<Recorder>> recorders(n_threads);
  std::vector<const Program*> programs(n_threads);
  size_t n_steps = 0;
  for (unsigned thread = 0; thread < n_threads; ++thread) {
    const unsigned unit = thread / static_cast<unsigned>(Recorder::scope);
    const auto found = script.programs.find({blockIdx.x, blockIdx.y, blockIdx.z, unit});
    if (found == script.programs.end()) continue;
    at_thread(thread);
    look(Recorder::scope, *(programs[thread] = &found->second), 0xbad00003u);
    recorders[thread] = recorder_of<Recorder>(script, trace);
    if (script.order == "turns") {
      n_steps = std::max(n_steps, programs[thread]->steps.size());
    } else {
      inside(*recorders[thread], *programs[thread], 0);
      recorders[thread].reset();
    }
  }
  for (size_t step = 0; step < n_steps; ++step) {
    for (unsigned thread = 0; thread < n_threads; ++thread) {
      if (programs[thread] == nullptr || step >= programs[thread]->steps.size()) continue;
      at_thread(thread);
      look(Recorder::scope, *programs[thread], programs[thread]->steps[step].clock);
      by_call(*recorders[thread], programs[thread]->steps[step]);
    }
  }
  for (unsigned thread = 0; thread < n_threads; ++thread) {
    if (recorders[thread] == nullptr) continue;
    at_thread(thread);
    look(Recorder::scope, *programs[thread], 0xbad00004u);
    recorders[thread].reset();
  }
}

constexpr unsigned char poison = 0xa5;

void check_untouched(size_t begin, size_t end) {
  static const std::vector<unsigned char> before(shim::shared_limit, poison);
  if (begin > end || std::memcmp(shim::shared + begin, before.data(), end - begin) != 0)
    shim::wrong("shared memory beyond a track was touched");
}

// Every byte of shared memory outside the tracks' used words must be as it was before the block.
void check_neighbours(const Script& script) {
  const size_t area = script.memory == "area" ? 0 : (script.kernel_bytes + 7) / 8 * 8;
  const size_t track_bytes = size_t{script.launch.words_per_track} * 4;
  const size_t room = script.enabled == "no" ? 0 : (script.launch.words_per_track - 3) / 2;
  size_t checked = 0;  // bytes from the first on that were looked at, or may have changed
  for (const auto& [place, program] : script.programs) {  // in the order of the units
    const auto [x, y, z, unit] = place;
    if (x != blockIdx.x || y != blockIdx.y || z != blockIdx.z) continue;
    const auto is_last = [](const Step& step) { return step.kind == 'f'; };
    const auto last = std::find_if(program.steps.begin(), program.steps.end(), is_last);
    const size_t n_events = std::min(static_cast<size_t>(last - program.steps.begin()), room);
    check_untouched(checked, area + unit * track_bytes);
    checked = area + unit * track_bytes + n_events * 8;
  }
  check_untouched(checked, shim::shared_limit);
}

template <typename Recorder>
void run(const Script& script, mgpu_trace::DeviceTrace trace) {
  gridDim = script.launch.grid;
  blockDim = script.launch.block;
  for (unsigned x = 0; x < gridDim.x; ++x) {
    for (unsigned y = 0; y < gridDim.y; ++y) {
      for (unsigned z = 0; z < gridDim.z; ++z) {
        blockIdx = {x, y, z};
        std::memset(shim::shared, poison, shim::shared_limit);
        run_block<Recorder>(script, trace);
        check_neighbours(script);
      }
    }
  }
}

template <typename Recorder>
mgpu_trace::Status launch(const Script& script, const char* name) {
  const mgpu_trace::Launch& given = script.launch;
  mgpu_trace::Trace trace;
  const auto launch =
      mgpu_trace::launch_of<Recorder>(given.kernel, given.grid, given.block, given.words_per_track);
  if (mgpu_trace::Status status = trace.open(launch); !status.ok()) return status;
  const size_t bytes = trace.shared_bytes(script.kernel_bytes);
  shim::dynamic_shared_bytes = static_cast<uint32_t>(script.given_bytes == 0 ? bytes : script.given_bytes);
  if (shim::launches()) run<Recorder>(script, trace.device());
  std::cout << bytes << '\n';
  mgpu_trace::Trace moved;
  moved = std::move(trace);
  if (trace.device().words != nullptr) shim::wrong("a trace that was moved still has its memory");
  return moved.write(name);
}

template <mgpu_trace::Scope scope>
mgpu_trace::Status launch_scope(const Script& script, const char* name) {
  if (script.enabled == "no") return launch<mgpu_trace::Recorder<scope, Names, false>>(script, name);
  return launch<mgpu_trace::Recorder<scope, Names>>(script, name);
}

}  // namespace

int main(int argc, char** argv) {
  shim::shared = shared;
  if (argc != 3) shim::wrong("usage: run_script SCRIPT NAME");
  const Script script = read(argv[1]);
  shim::failed = shim::fails("before");
  const mgpu_trace::Status status = script.scope == "warp"
                                        ? launch_scope<mgpu_trace::Scope::warp>(script, argv[2])
                                        : launch_scope<mgpu_trace::Scope::warpgroup>(script, argv[2]);
  if (shim::failed) shim::wrong("an error was left for whoever asks next");
  if (shim::allocations != 0) shim::wrong("device memory was not given back");
  if (!status.ok()) std::cerr << status.message << '\n';
  return status.ok() ? 0 : 1;
}
