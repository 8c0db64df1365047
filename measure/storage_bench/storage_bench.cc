#include "measure/storage_bench/storage_bench.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "base/machine.h"
#include "base/status.h"
#include "base/time.h"
#include "measure/storage_bench/block_device.h"
#include "measure/storage_bench/scratch_directory.h"
#include "measure/storage_bench/signals.h"
#include "measure/storage_bench/suites.h"
#include "measure/storage_bench/workers.h"

namespace tickstack::measure::storage_bench {
namespace {

bool IsInScope(const Suite& suite, Scope scope) {
  switch (scope) {
    case Scope::kFull:
      return true;
    case Scope::kCpuOnly:
      return !suite.uses_files;
    case Scope::kDiskOnly:
      return suite.uses_files;
  }
  return false;
}

bool IsExcluded(const TestName& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.id.c_str(), 0) == 0;
  });
}

absl::Status CheckRoom(const StorageBenchOptions& options, const Sizes& sizes, bool on_memory) {
  const uint64_t disk =
      options.scope == Scope::kCpuOnly ? 0 : sizes.DiskBytes() * options.processes;
  const uint64_t memory = sizes.MemoryBytes() * options.processes + (on_memory ? disk : 0);
  const uint64_t available = ThisMachine().available_bytes;
  if (memory > available) {
    return ResourceExhausted(
        "{} of memory are available, the benchmark uses up to {}; choose a smaller --size or fewer "
        "processes",
        BytesText(available), BytesText(memory));
  }
  return CheckFits(options.directory, disk);
}

// One run: the workers, and what they have measured.
class BenchRun {
 public:
  BenchRun(const StorageBenchOptions& options, const std::string& directory, StorageBench& bench,
           WorkerProcesses workers, const std::vector<Suite>& suites, const HeldSignals& signals,
           Progress& progress)
      : options_(options),
        directory_(directory),
        bench_(bench),
        workers_(std::move(workers)),
        suites_(suites),
        signals_(signals),
        progress_(progress),
        device_(BlockDevice::Of(directory)) {}

  absl::Status RunAll() {
    bench_.device = device_.Name();
    for (size_t suite = 0; suite < suites_.size(); ++suite) {
      if (IsInScope(suites_[suite], options_.scope)) TS_RETURN_IF_ERROR(RunSuite(suite));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunSuite(size_t suite) {
    progress_.Begins(suites_[suite].title);
    if (suites_[suite].drops_cache) TS_RETURN_IF_ERROR(Drop());
    // The names are the same in all processes; no vector is made for them.
    const Workspace names{.directory = directory_, .sizes = bench_.sizes};
    const std::vector<Test> tests = suites_[suite].make(names);
    for (size_t test = 0; test < tests.size(); ++test) {
      const bool is_excluded = IsExcluded(tests[test].name, options_.excluded);
      if (is_excluded && !tests[test].is_needed) continue;
      TS_RETURN_IF_ERROR(RunTest(suite, test, tests[test], is_excluded));
    }
    return workers_.EndSuite();
  }

  absl::Status RunTest(size_t suite, size_t number, const Test& test, bool is_excluded) {
    std::optional<DeviceBytes> before;
    int64_t before_ns = 0;
    absl::StatusOr<std::vector<Measurement>> measured = workers_.Run(suite, number, [&] {
      before = device_.Bytes();
      before_ns = MonotonicNs();
    });
    const std::optional<DeviceBytes> after = device_.Bytes();
    if (absl::IsUnimplemented(measured.status())) {
      progress_.LeftOut(test.name, Message(measured.status()));
      return absl::OkStatus();
    }
    TS_RETURN_IF_ERROR(measured.status());
    if (is_excluded) return absl::OkStatus();
    TestResult result{.name = test.name,
                      .io = test.io,
                      .on_memory = bench_.on_memory,
                      .measurements = *std::move(measured),
                      .device = std::nullopt,
                      .device_ns = MonotonicNs() - before_ns};
    if (before && after) {
      result.device = DeviceBytes{after->read - before->read, after->written - before->written};
    }
    progress_.Measured(result);
    bench_.results.push_back(std::move(result));
    return absl::OkStatus();
  }

  absl::Status Drop() {
    TS_RETURN_IF_ERROR(signals_.Check());
    if (bench_.on_memory) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(bench_.drop, DropPages(directory_, options_.drop));
    return absl::OkStatus();
  }

  const StorageBenchOptions& options_;
  const std::string& directory_;
  StorageBench& bench_;
  WorkerProcesses workers_;
  const std::vector<Suite>& suites_;
  const HeldSignals& signals_;
  Progress& progress_;
  const BlockDevice device_;
};

absl::Status RunInside(const StorageBenchOptions& options, const std::string& directory,
                       const HeldSignals& signals, StorageBench& bench, Progress& progress) {
  const std::vector<Suite> suites = AllSuites();
  TS_ASSIGN_OR_RETURN(WorkerProcesses workers,
                      WorkerProcesses::Start({.directory = directory,
                                              .processes = options.processes,
                                              .threads = options.threads,
                                              .seconds = options.seconds,
                                              .sizes = bench.sizes},
                                             suites, signals));
  BenchRun run(options, directory, bench, std::move(workers), suites, signals, progress);
  return run.RunAll();  // The workers end with `run`, before the directory is removed.
}

}  // namespace

absl::StatusOr<Scope> ParseScope(std::string_view text) {
  if (text == "full") return Scope::kFull;
  if (text == "cpuonly") return Scope::kCpuOnly;
  if (text == "diskonly") return Scope::kDiskOnly;
  return InvalidArgument("scope {}: expected full, cpuonly or diskonly", text);
}

absl::StatusOr<StorageBench> RunStorageBench(const StorageBenchOptions& options,
                                             Progress& progress) {
  StorageBench bench;
  bench.sizes = SizesFor(options.factor, options.processes, ThisMachine().memory_bytes);
  TS_ASSIGN_OR_RETURN(const FileSystem file_system, FileSystemOf(options.directory));
  bench.on_memory = file_system.is_memory;
  TS_RETURN_IF_ERROR(CheckRoom(options, bench.sizes, bench.on_memory));
  const HeldSignals signals;
  TS_ASSIGN_OR_RETURN(ScratchDirectory scratch, ScratchDirectory::In(options.directory));
  if (bench.on_memory) {
    progress.Notice(options.directory + " is in memory (tmpfs): nothing here measures a disk");
  }
  const absl::Status status = RunInside(options, scratch.path(), signals, bench, progress);
  const absl::Status removed = scratch.Remove();
  TS_RETURN_IF_ERROR(status);
  TS_RETURN_IF_ERROR(removed);
  return bench;
}

}  // namespace tickstack::measure::storage_bench
