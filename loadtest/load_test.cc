#include "loadtest/load_test.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/child_process.h"
#include "base/file.h"
#include "base/human_text.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "loadtest/client_summary.h"
#include "loadtest/environment_json.h"
#include "loadtest/find_max.h"
#include "loadtest/paper_tests.h"
#include "loadtest/plan.h"
#include "loadtest/progress.h"
#include "loadtest/report/page.h"
#include "loadtest/stack_toml.h"
#include "loadtest/summary.h"
#include "loadtest/test_runner.h"
#include "measure/clients/query_set.h"

namespace tickstack::loadtest {
namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;
constexpr double kQueryMs = 300, kSearchQueryMs = 20;
constexpr const char* kSecondTier = "/dev/shm";

std::atomic<bool> interrupted = false;

void StopOnSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

absl::Status WriteText(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Annotate(ErrnoStatus(errno, "write"), path);
  return absl::OkStatus();
}

absl::StatusOr<Profile> ProfileOf(const LoadTestOptions& options) {
  TS_ASSIGN_OR_RETURN(Profile profile, LoadProfile(options.profile));
  if (options.seconds) profile.seconds = *options.seconds;
  if (options.rate) profile.SetUpdatesPerSecond(*options.rate);
  if (options.symbols) profile.symbols = *options.symbols;
  if (options.seed) profile.seed = *options.seed;
  return profile;
}

absl::StatusOr<Placement> SecondTierOf(const LoadTestOptions& options) {
  if (options.second_tier.empty()) return ParsePlacement(fmt::format("filesystem:{}", kSecondTier));
  if (options.second_tier.find(':') != std::string::npos)
    return ParsePlacement(options.second_tier);
  return ParsePlacement("filesystem:" + options.second_tier);
}

// Returns the tests to run, without their prestress.
absl::StatusOr<std::vector<TestSpec>> TestsOf(const LoadTestOptions& options,
                                              const Profile& profile) {
  TS_ASSIGN_OR_RETURN(const Placement second, SecondTierOf(options));
  if (!options.matrix.empty()) {
    if (!options.stacks.empty()) {
      return InvalidArgument("--matrix {} says which stacks there are: no --stack with it",
                             options.matrix);
    }
    return MakeMatrix(options.matrix, profile, second);
  }
  std::vector<Placement> placements;
  for (const std::string& text : options.stacks) {
    TS_ASSIGN_OR_RETURN(placements.emplace_back(), ParsePlacement(text));
  }
  if (placements.empty()) {
    TS_ASSIGN_OR_RETURN(placements.emplace_back(), ParsePlacement("dram"));
    placements.push_back(second);
  }
  TestSpec test;
  const double query_ms = options.query_ms.value_or(options.find_max ? kSearchQueryMs : kQueryMs);
  test.name = TestName(options.batch_ms, query_ms);
  test.batch_ms = options.batch_ms;
  test.query_ms = query_ms;
  test.search = options.find_max;
  test.profile = profile;
  test.stacks = NameStacks(placements);
  if (!options.find_max) return std::vector<TestSpec>{std::move(test)};
  // One stack at a time: two concurrent searches would compete for the machine.
  std::vector<TestSpec> tests;
  for (const StackSpec& stack : test.stacks) {
    tests.push_back(test);
    tests.back().stacks = {stack};
  }
  return tests;
}

std::string DefaultFolder() {
  std::string time = FormatTimestamp(SystemClock::Instance().NowNs()).substr(0, 19);
  for (char& c : time) c = c == '.' || c == ':' || c == 'D' ? '-' : c;
  return "loadtest-" + time;
}

class LoadTest {
 public:
  explicit LoadTest(const LoadTestOptions& options) : options_(options) {}

  int Run() {
    if (const absl::Status prepared = Prepare(); !prepared.ok()) {
      RemoveWork();
      Complain(prepared);
      return kExitUsage;
    }
    const absl::Status done = RunTests();
    if (!done.ok()) result_.failure = Message(done);
    const absl::Status written = WriteFiles();
    RemoveWork();
    Complain(written);
    Complain(done);
    // A failed run gets a report, too; it begins with the failure.
    const absl::Status reported = written.ok() ? WriteReport(out_) : absl::OkStatus();
    Complain(reported);
    const bool all_ok = done.ok() && written.ok() && reported.ok();
    if (written.ok()) {
      progress_.Note(fmt::format("results are in {}{}", out_,
                                 reported.ok() ? ", for people: " + out_ + "/report.html" : ""));
    }
    if (all_ok && options_.how_to_go_on) HowToGoOn();
    return all_ok ? EXIT_SUCCESS : kExitFailed;
  }

 private:
  // Prints plain text rather than a log line, since the last words of a stack are several lines.
  static void Complain(const absl::Status& status) {
    if (!status.ok()) fmt::print(stderr, "loadtest: {}\n", Message(status));
  }

  void RemoveWork() const {
    std::error_code ignored;
    if (!work_.empty()) std::filesystem::remove_all(work_, ignored);
  }

  absl::Status Prepare() {
    TS_ASSIGN_OR_RETURN(result_.profile, ProfileOf(options_));
    TS_ASSIGN_OR_RETURN(tests_, TestsOf(options_, result_.profile));
    TS_ASSIGN_OR_RETURN(const measure::QuerySet queries, measure::LoadQuerySet(options_.queries));
    result_.command = options_.command;
    result_.begin_ns = SystemClock::Instance().NowNs();
    out_ = options_.out.empty() ? DefaultFolder() : options_.out;
    TS_RETURN_IF_ERROR(CreateDirectories(out_));
    std::error_code error;
    out_ = std::filesystem::canonical(out_, error).string();
    if (error) return ErrnoStatus(error.value(), out_);
    work_ = fmt::format("{}/tickstack-loadtest-{}", options_.work.empty() ? out_ : options_.work,
                        getpid());
    TS_RETURN_IF_ERROR(CreateDirectories(work_));
    TS_RETURN_IF_ERROR(PrepareQueries(queries));
    for (TestSpec& test : tests_) TS_RETURN_IF_ERROR(PlanTest(test));
    return absl::OkStatus();
  }

  // Puts the clients' queries beside the results, so that a built-in set can be changed and run
  // again.
  absl::Status PrepareQueries(const measure::QuerySet& set) {
    TestQueries queries;
    queries.name = result_.queries = set.name;
    if (!set.clients.empty()) {
      queries.file = out_ + "/queries.toml";
      queries.symbols = work_ + "/symbols.csv";
      TS_RETURN_IF_ERROR(WriteText(queries.file, set.text));
      TS_RETURN_IF_ERROR(WriteText(queries.symbols, SymbolWeights(result_.profile)));
    }
    for (TestSpec& test : tests_) test.queries = queries;
    return absl::OkStatus();
  }

  absl::Status PlanTest(TestSpec& test) {
    TS_ASSIGN_OR_RETURN(PlanInput input, ReadMachine(test.profile, test.stacks,
                                                     options_.work.empty() ? out_ : options_.work));
    input.quotes = options_.prestress_quotes;
    input.trades = options_.prestress_trades;
    // If only one is given, the other one follows from the paper's ratio.
    if (input.quotes && !input.trades) input.trades = *input.quotes * 85 / 650;
    if (input.trades && !input.quotes) input.quotes = *input.trades * 650 / 85;
    if (options_.find_max && !input.quotes) input.quotes = input.trades = 0;
    TS_ASSIGN_OR_RETURN(const Plan plan, PlanPrestress(input));
    test.prestress = plan.prestress;
    if (&test == &tests_.front()) progress_.Note(plan.explanation);
    return absl::OkStatus();
  }

  TestResult RunOne(const TestSpec& test, bool is_probe) {
    std::string stacks;
    for (const StackSpec& stack : test.stacks) {
      stacks +=
          fmt::format("{}{} ({})", stacks.empty() ? "" : ", ", stack.name, stack.placement.text);
    }
    progress_.Note(fmt::format("{}: {} updates/s for {:g} s, {}", test.name,
                               Thousands(static_cast<int64_t>(test.profile.UpdatesPerSecond())),
                               test.profile.seconds, stacks));
    RunContext context;
    context.work = work_;
    if (!is_probe) {
      std::string folder = test.name;
      for (char& c : folder) c = c == '/' ? '-' : c;
      context.logs = fmt::format("{}/logs/{}", out_, folder);
    }
    context.interrupted = &interrupted;
    context.progress = &progress_;
    context.is_probe = is_probe;
    return RunTest(test, context);
  }

  absl::Status RunTests() {
    for (const TestSpec& test : tests_) {
      if (interrupted) return absl::CancelledError("interrupted");
      if (options_.find_max) {
        Search(test);
      } else {
        result_.tests.push_back(RunOne(test, false));
        const TestResult& test_result = result_.tests.back();
        progress_.Note("\n" + SideBySide(test_result));
        if (test_result.relay) progress_.Note(RelayComparison(*test_result.relay));
        if (test_result.failure.empty()) progress_.Note(EqualRows(test_result) + "\n");
      }
      TS_RETURN_IF_ERROR(WriteFiles());  // Keeps the results so far, whatever comes.
    }
    for (const TestResult& test : result_.tests) {
      if (!test.failure.empty()) return Unavailable("{}: {}", test.spec.name, test.failure);
    }
    for (const FoundMaximum& maximum : result_.maxima) {
      if (maximum.updates_per_s == 0) {
        return Unavailable("{}: no rate held: {}", maximum.stack, maximum.broke);
      }
    }
    return absl::OkStatus();
  }

  void Search(const TestSpec& test) {
    std::optional<TestResult> confirmed;
    const RunOneTest run = [this](const TestSpec& probe, bool is_probe) {
      TestResult result = RunOne(probe, is_probe);
      const std::optional<std::string> broke = BrokenBound(result, options_.below_ms);
      progress_.Note(broke ? "  does not hold: " + *broke : "  holds");
      return result;
    };
    FoundMaximum found = FindMaximum(test, options_.below_ms, run, confirmed);
    if (found.updates_per_s > 0) {
      progress_.Note(fmt::format(
          "\n{}: {} updates/s held for {:g} s below {:g} ms ({} were taken)\nthe next step: "
          "{}\n\n{}",
          found.stack, Thousands(static_cast<int64_t>(found.updates_per_s)), test.profile.seconds,
          options_.below_ms, Thousands(static_cast<int64_t>(found.achieved_per_s)),
          found.broke.empty() ? "not tried" : found.broke, SideBySide(*confirmed)));
      result_.tests.push_back(*std::move(confirmed));
    }
    result_.maxima.push_back(std::move(found));
  }

  absl::Status WriteFiles() {
    TS_RETURN_IF_ERROR(WriteText(out_ + "/summary.json", SummaryJson(result_)));
    TS_RETURN_IF_ERROR(WriteText(out_ + "/summary.csv", SummaryCsv(result_)));
    TS_RETURN_IF_ERROR(WriteText(out_ + "/samples.csv", SamplesCsv(result_)));
    if (result_.queries != kNoClients) {
      TS_RETURN_IF_ERROR(WriteText(out_ + "/queries.csv", QueriesCsv(result_)));
    }
    return WriteText(out_ + "/environment.json", EnvironmentJson(result_));
  }

  static void HowToGoOn() {
    const absl::StatusOr<std::string> program = OwnProgram();
    if (!program.ok()) return;
    std::error_code ignored;
    const std::string shorter = std::filesystem::proximate(*program, ignored).string();
    fmt::print(
        "\nNow with a stack that stays:\n"
        "  {0} up examples/stack.toml\n"
        "and in another terminal, or from any q process, PyKX, qPython ... on the same port:\n"
        "  {0} query :5011 'select[-5] from trade'\n"
        "  {0} query :5011 'count quote' --json\n",
        shorter.empty() || shorter.size() > program->size() ? *program : shorter);
  }

  const LoadTestOptions& options_;
  std::vector<TestSpec> tests_;
  RunResult result_;
  std::string out_, work_;
  Progress progress_;
};

}  // namespace

int RunLoadTest(const LoadTestOptions& options) {
  InitLogging("loadtest");
  StopOnSignals();
  return LoadTest(options).Run();
}

}  // namespace tickstack::loadtest
