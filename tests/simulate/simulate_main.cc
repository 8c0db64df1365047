// simulate: lives of a stack with trouble, from seeds (README.md).

#include <malloc.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/logging.h"
#include "tests/simulate/cluster_life.h"
#include "tests/simulate/gateway_life.h"
#include "tests/simulate/life.h"

namespace tickstack::simulate {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Options {
  uint64_t seed = 0;
  uint64_t lives = 1;
  int days = 1;
  double seconds = 0;  // Not 0: as many lives as fit in.
  int jobs = 1;
  int timeout_s = 120;  // Real time of a life.
  bool twice = false;
  bool until_failure = false;
  bool strict_syncs = false;
  bool standbys = false;
  bool gateway = false;
  std::string log = "off";
  int report = -1;  // The descriptor for the record of one life.
  bool other_memory = false;
};

// What a life's process writes into its pipe.
struct Record {
  uint64_t trace;
  int64_t rows, deaths, power_cuts, leaders, answers, errors;
  char failure[400];
};

struct Job {
  uint64_t seed;
  pid_t pid;
  int pipe;
};

std::string FolderOf(uint64_t seed, pid_t parent) {
  return "/dev/shm/simulate." + std::to_string(parent) + "." + std::to_string(seed);
}

// Runs a life in a program of its own, so that a crash is a failure like another, and every life
// begins in the same memory.
Job Begin(const Options& options, uint64_t seed, bool in_other_memory) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(2);
  const std::string folder = FolderOf(seed, ::getpid());
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::close(ends[1]);
    return {seed, pid, ends[0]};
  }
  std::filesystem::create_directories(folder + "/disk");
  std::filesystem::current_path(folder);
  const std::string numbers[] = {std::to_string(seed), std::to_string(options.days),
                                 std::to_string(ends[1]), std::to_string(options.timeout_s)};
  // Messages have paths, so these are relative and the same in each run.
  std::vector<const char*> command = {
      "simulate",         "--seed",    numbers[0].c_str(), "--days", numbers[1].c_str(), "--report",
      numbers[2].c_str(), "--timeout", numbers[3].c_str(), "--log",  options.log.c_str()};
  if (options.strict_syncs) command.push_back("--strict-syncs");
  if (options.standbys) command.push_back("--standbys");
  if (options.gateway) command.push_back("--gateway");
  if (in_other_memory) command.push_back("--other-memory");
  command.push_back(nullptr);
  ::execv("/proc/self/exe", const_cast<char**>(command.data()));
  ::_exit(1);
}

// Leaves holes of many sizes in the heap, so that what a life allocates lies elsewhere. Libraries
// do so too: one measures the processor's clock before main(), with as many numbers as it needs.
void ShiftMemory() {
  std::minstd_rand random(1);  // NOLINT(cert-msc51-cpp): the same in each run.
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(std::make_unique<char[]>(16 + random() % 4000));
  for (std::unique_ptr<char[]>& block : blocks) {
    if (random() % 2 == 0) block.reset();
  }
  static const std::vector<std::unique_ptr<char[]>> kept = std::move(blocks);
}

int LiveAndReport(const Options& options) {
  if (options.other_memory) ShiftMemory();
  ::alarm(static_cast<unsigned>(options.timeout_s));
  const LifeReport report = options.standbys ? LiveAsCluster(options.seed, options.days, "disk")
                            : options.gateway
                                ? LiveWithGateway(options.seed, options.days, "disk")
                                : Live(options.seed, options.days, "disk", options.strict_syncs);
  Record record{report.trace,   report.rows,    report.deaths, report.power_cuts,
                report.leaders, report.answers, report.errors, {}};
  std::snprintf(record.failure, sizeof(record.failure), "%s", report.failure.c_str());
  return ::write(options.report, &record, sizeof(record)) == sizeof(record) ? 0 : 1;
}

struct Totals {
  uint64_t lives = 0, failed = 0;
  int64_t rows = 0, deaths = 0, power_cuts = 0, leaders = 0, answers = 0, errors = 0;
  std::map<uint64_t, uint64_t> traces;  // By seed, for --twice.
};

void End(const Options& options, const Job& job, const char* program, Totals& totals) {
  Record record{};
  const bool reported = ::read(job.pipe, &record, sizeof(record)) == sizeof(record);
  ::close(job.pipe);
  int status = 0;
  ::waitpid(job.pid, &status, 0);
  std::error_code ignored;
  std::filesystem::remove_all(FolderOf(job.seed, ::getpid()), ignored);
  std::string failure = record.failure;
  if (!reported) {
    failure = WIFSIGNALED(status)
                  ? "the program was ended by signal " + std::to_string(WTERMSIG(status))
                  : "the program ended";
  }
  const auto [before, is_first] = totals.traces.emplace(job.seed, record.trace);
  if (!is_first && before->second != record.trace && failure.empty()) {
    failure = "two runs of this seed differ";
  }
  ++totals.lives;
  totals.rows += record.rows;
  totals.deaths += record.deaths;
  totals.power_cuts += record.power_cuts;
  totals.leaders += record.leaders;
  totals.answers += record.answers;
  totals.errors += record.errors;
  if (failure.empty()) return;
  ++totals.failed;
  std::printf("FAILED seed %llu: %s\n  replay: %s --seed %llu --days %d%s --log info\n",
              static_cast<unsigned long long>(job.seed), failure.c_str(), program,
              static_cast<unsigned long long>(job.seed), options.days,
              options.standbys  ? " --standbys"
              : options.gateway ? " --gateway"
                                : "");
  std::fflush(stdout);
}

int Run(const Options& options, const char* program) {
  const SteadyClock::time_point begin = SteadyClock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
  };
  const uint64_t runs = options.lives * (options.twice ? 2 : 1);
  std::vector<Job> jobs;
  Totals totals;
  uint64_t started = 0;
  const auto more = [&] {
    if (options.until_failure && totals.failed > 0) return false;
    return options.seconds > 0 ? elapsed() < options.seconds : started < runs;
  };
  while (more() || !jobs.empty()) {
    while (more() && jobs.size() < static_cast<size_t>(options.jobs)) {
      const uint64_t number = options.twice ? started / 2 : started;
      const bool is_second = options.twice && started % 2 == 1;
      ++started;
      jobs.push_back(Begin(options, options.seed + number, is_second));
    }
    std::vector<pollfd> waits;
    for (const Job& job : jobs) waits.push_back({job.pipe, POLLIN, 0});
    ::poll(waits.data(), waits.size(), -1);
    for (size_t i = waits.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      End(options, jobs[i], program, totals);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::string more_totals;
  if (options.standbys) more_totals = std::to_string(totals.leaders) + " leaders, ";
  if (options.gateway) {
    more_totals =
        std::to_string(totals.answers) + " answers, " + std::to_string(totals.errors) + " errors, ";
  }
  std::printf(
      "simulate: seeds %llu to %llu, days %d: %llu lives, %llu failed, %lld rows, %lld deaths, "
      "%lld power cuts, %s%.1f s, %.0f lives/min\n",
      static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(options.seed + (options.twice ? started / 2 : started) - 1),
      options.days, static_cast<unsigned long long>(totals.lives),
      static_cast<unsigned long long>(totals.failed), static_cast<long long>(totals.rows),
      static_cast<long long>(totals.deaths), static_cast<long long>(totals.power_cuts),
      more_totals.c_str(), elapsed(), 60 * static_cast<double>(totals.lives) / elapsed());
  if (options.lives == 1 && options.seconds == 0 && totals.traces.size() == 1) {
    std::printf("trace %016llx\n", static_cast<unsigned long long>(totals.traces.begin()->second));
  }
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tickstack::simulate

int main(int argc, char** argv) {
  using namespace tickstack;
  // Without random addresses, the order of a hash table's entries repeats.
  if ((::personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0) {
    if (::personality(ADDR_NO_RANDOMIZE) != -1) ::execv("/proc/self/exe", argv);
    std::fprintf(stderr,
                 "simulate: cannot switch off address randomisation; lives may not repeat\n");
  }
  ::mallopt(M_ARENA_MAX, 1);
  simulate::Options options;
  CLI::App app(
      "Lives of a stack with crashes, power cuts and lost connections, in simulated time.");
  app.add_option("--seed", options.seed, "seed of the first life (default: from the time)");
  app.add_option("--lives", options.lives, "number of lives, each with the next seed");
  app.add_option("--seconds", options.seconds, "run lives for this many seconds instead");
  app.add_option("--days", options.days, "days of a life")->check(CLI::Range(1, 100));
  app.add_option("--jobs", options.jobs, "lives at once")->check(CLI::Range(1, 256));
  app.add_option("--log", options.log, "write the processes' log: debug, info, warn or error");
  app.add_option("--report", options.report)->group("");
  app.add_flag("--other-memory", options.other_memory)->group("");
  app.add_option("--timeout", options.timeout_s, "real time in s after which a life has hung");
  app.add_flag("--until-failure", options.until_failure, "end with the first life that fails");
  CLI::Option* const standbys = app.add_flag("--standbys", options.standbys,
                                             "lives of a cluster of three tickerplants instead");
  app.add_flag("--gateway", options.gateway, "lives of a gateway with two rdbs and an hdb instead")
      ->excludes(standbys);
  app.add_flag("--strict-syncs", options.strict_syncs,
               "a power cut may not take what was acknowledged, even if a sync had failed before");
  app.add_flag("--twice", options.twice,
               "run each life twice, the second time in other memory, and compare");
  CLI11_PARSE(app, argc, argv);
  if (app.count("--seed") == 0) {
    options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                         std::chrono::seconds(1));
  }
  if (options.twice) options.jobs = 1;  // Both runs of a seed use the same folder.
  InitLogging("world", ParseLogLevel(options.log).value_or(LogLevel::kOff));
  if (options.report >= 0) return simulate::LiveAndReport(options);
  return simulate::Run(options, argv[0]);
}
