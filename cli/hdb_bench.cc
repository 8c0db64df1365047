#include "cli/hdb_bench.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/file.h"
#include "base/human_text.h"
#include "base/machine.h"
#include "base/status.h"
#include "measure/storage_bench/storage_bench.h"

namespace tickstack::cli {
namespace {

namespace bench = measure::storage_bench;
constexpr int kBenchWrongUsage = 2;

// Prints to stderr, also if that is closed: an exception would keep files from being removed.
void Say(std::string_view text) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

class TextProgress final : public bench::Progress {
 public:
  void Begins(std::string_view suite) override { Say(suite); }

  void Measured(const bench::TestResult& result) override {
    const bool is_latency = result.name.is_latency;
    Say(fmt::format("  {:<38} {:>14.{}f} {:<7} {}", result.name.name,
                    is_latency ? result.MeanLatency() : result.Throughput(), is_latency ? 6 : 2,
                    is_latency ? "ms" : "MB/sec", result.ServedBy()));
    const std::string warning = bench::WarningOf(result);
    if (!warning.empty()) warnings_.push_back(warning);
  }

  void LeftOut(const bench::TestName& test, std::string_view reason) override {
    Say(fmt::format("  {:<38} left out: {}", test.name, reason));
  }

  void Notice(std::string_view text) override { warnings_.emplace_back(text); }

  void PrintWarnings() const {
    for (const std::string& warning : warnings_) Say("warning: " + warning);
  }

 private:
  std::vector<std::string> warnings_;
};

std::string HostName() {
  utsname system{};
  ::uname(&system);
  return system.nodename;
}

// Quotes a text for YAML.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// Returns what one has to know to compare two runs.
std::string ConfigYaml(const HdbBenchOptions& options, size_t processes,
                       const bench::StorageBench& run) {
  const Machine machine = ThisMachine();
  const bench::Sizes& sizes = run.sizes;
  std::string text = "env:\n";
  text += fmt::format("  THREADNR: {}\n  FILENRPERWORKER: {}\n  PROCNR: {}\n", options.threads,
                      sizes.random_files, processes);
  text += fmt::format("  FLUSH: {}\n  DBDIR: {}\n", Quoted(bench::NameOf(run.drop)),
                      Quoted(options.directory + (run.on_memory ? " (memory)" : "")));
  text += fmt::format("  DEVICE: {}\n", Quoted(run.device));
  text += fmt::format(
      "dbsize:\n  DBSIZE: {}\n  TINYLENGTH: {}\n  SMALLLENGTH: {}\n  MEDIUMLENGTH: {}\n"
      "  LARGELENGTH: {}\n  HUGELENGTH: {}\n  SORTFILESIZE: {}\n  RANDREADNUMBER: {}\n"
      "  RANDREADFILESIZE: {}\n",
      Quoted(options.size), sizes.tiny, sizes.small, sizes.medium, sizes.large, sizes.huge,
      sizes.table_rows, sizes.random_read_items, sizes.random_file_items * sizes.random_files);
  text += fmt::format("system:\n  kernel: {}\n  cpu: {}\n  cores: {}\n  memsizeGB: {}\n",
                      Quoted(machine.kernel), Quoted(machine.cpu), machine.cores,
                      machine.memory_bytes >> 30);
  return text;
}

absl::Status WriteResultFile(const std::string& path, const std::string& text) {
  TS_ASSIGN_OR_RETURN(File file, File::Create(path));
  return file.WriteAt(0, std::as_bytes(std::span(text)));
}

// Writes what nano writes to its directory of results.
absl::Status WriteResults(const std::string& directory, const HdbBenchOptions& options,
                          size_t processes, const bench::StorageBench& run) {
  TS_RETURN_IF_ERROR(CreateDirectories(directory));
  const std::string host = HostName();
  TS_RETURN_IF_ERROR(
      WriteResultFile(fmt::format("{}/{}-throughput.psv", directory, host),
                      bench::ThroughputPsv(run.results, options.threads, /*header=*/true)));
  TS_RETURN_IF_ERROR(
      WriteResultFile(fmt::format("{}/{}-latency.psv", directory, host),
                      bench::LatencyPsv(run.results, options.threads, /*header=*/true)));
  for (size_t i = 0; i < processes; ++i) {
    TS_RETURN_IF_ERROR(WriteResultFile(fmt::format("{}/detailed-{}-{}.psv", directory, host, i + 1),
                                       bench::DetailedPsv(run.results, i, options.threads)));
  }
  return WriteResultFile(directory + "/config.yaml", ConfigYaml(options, processes, run));
}

// Returns the directory for the results of one number of processes.
std::string ResultsOf(const HdbBenchOptions& options, size_t processes) {
  if (options.processes.size() == 1) return options.results;
  return fmt::format("{}/{}", options.results, processes);
}

// Refuses to measure for a long time what could then not be written.
absl::Status CheckResults(const HdbBenchOptions& options) {
  if (options.results.empty()) return absl::OkStatus();
  for (const size_t processes : options.processes) {
    const std::string config = ResultsOf(options, processes) + "/config.yaml";
    TS_ASSIGN_OR_RETURN(const bool has_results, FileExists(config));
    if (has_results) return InvalidArgument("{}: has results of an earlier run", config);
    TS_RETURN_IF_ERROR(CreateDirectories(ResultsOf(options, processes)));
  }
  return absl::OkStatus();
}

absl::StatusOr<bench::StorageBenchOptions> Parsed(const HdbBenchOptions& options) {
  bench::StorageBenchOptions parsed{.directory = options.directory,
                                    .threads = options.threads,
                                    .seconds = options.seconds,
                                    .excluded = options.excluded};
  TS_ASSIGN_OR_RETURN(parsed.factor, bench::ParseSize(options.size));
  TS_ASSIGN_OR_RETURN(parsed.scope, bench::ParseScope(options.scope));
  TS_ASSIGN_OR_RETURN(parsed.drop, bench::ParseCacheDrop(options.drop));
  return parsed;
}

struct Tables {
  std::string throughputs, latencies;
};

// Runs once for each number of processes. After an error, `tables` has the runs before it.
absl::Status RunEach(const HdbBenchOptions& options, bench::StorageBenchOptions parsed,
                     TextProgress& progress, Tables& tables) {
  TS_RETURN_IF_ERROR(CheckResults(options));
  for (const size_t processes : options.processes) {
    parsed.processes = processes;
    Say(fmt::format("processes: {}, threads of each: {}", processes, options.threads));
    TS_ASSIGN_OR_RETURN(const bench::StorageBench run, bench::RunStorageBench(parsed, progress));
    tables.throughputs +=
        bench::ThroughputPsv(run.results, options.threads, tables.throughputs.empty());
    tables.latencies += bench::LatencyPsv(run.results, options.threads, tables.latencies.empty());
    if (run.drop != bench::CacheDrop::kNone) {
      Say(fmt::format("before cold reads, the page cache was dropped: {}",
                      bench::NameOf(run.drop)));
    }
    if (options.results.empty()) continue;
    TS_RETURN_IF_ERROR(WriteResults(ResultsOf(options, processes), options, processes, run));
  }
  return absl::OkStatus();
}

}  // namespace

int RunHdbBench(const HdbBenchOptions& options) {
  const absl::StatusOr<bench::StorageBenchOptions> parsed = Parsed(options);
  if (!parsed.ok()) {
    Say(fmt::format("tickstack hdb bench: {}", Message(parsed.status())));
    return kBenchWrongUsage;
  }
  TextProgress progress;
  Tables tables;
  const absl::Status status = RunEach(options, *parsed, progress, tables);
  if (!tables.throughputs.empty()) {
    std::printf("%s\n%s", tables.throughputs.c_str(), tables.latencies.c_str());
  }
  progress.PrintWarnings();
  if (status.ok()) return 0;
  Say(fmt::format("tickstack hdb bench: {}", Message(status)));
  return 1;
}

}  // namespace tickstack::cli
