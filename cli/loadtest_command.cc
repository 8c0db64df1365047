#include "cli/loadtest_command.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/logging.h"
#include "base/status.h"
#include "loadtest/load_test.h"

namespace tickstack::cli {
namespace {

using loadtest::LoadTestOptions;

constexpr double kDemoSeconds = 30, kDemoRate = 48'000;
constexpr int64_t kDemoQuotes = 2'000'000, kDemoTrades = 200'000;
constexpr double kDemoQueryMs = 100;

std::string CommandLine(const std::vector<std::string>& args) {
  std::string line = "tickstack";
  for (const std::string& arg : args) {
    const bool plain = !arg.empty() && arg.find_first_of(" '\"$&|;<>()*?`\\") == std::string::npos;
    line += plain ? " " + arg : " '" + arg + "'";
  }
  return line;
}

// Returns a directory for the results of a demo. It is kept, because the report is in it.
std::string DemoFolder() {
  const char* const parent = std::getenv("TMPDIR");
  std::string folder = fmt::format("{}/tickstack-demo-XXXXXX", parent != nullptr ? parent : "/tmp");
  return mkdtemp(folder.data()) == nullptr ? "tickstack-demo" : folder;
}

// Returns a second tier that every machine has: tmpfs, else files in a temporary folder.
std::string DemoTier(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::is_directory("/dev/shm", ignored) ? "/dev/shm" : folder;
}

}  // namespace

void AddLoadTestCommand(CLI::App& app, LoadTestOptions& options,
                        const std::vector<std::string>& args, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "loadtest",
      "Run stacks side by side under the same load, such as that of March 2020, and measure them");
  command
      .add_option("profile", options.profile,
                  "Load profile: march2020, march2020-volume, bursts, or a file such as busy.toml")
      ->capture_default_str();
  command.add_option(
      "--stack", options.stacks,
      "Stacks to run, with COUNT rdbs each: dram[:COUNT], filesystem:PATH[:COUNT], "
      "persistent:PATH[:COUNT], numa:NODE[:COUNT], simulate:MODEL:PATH[:COUNT], "
      "hybrid:FILE[:COUNT] (tiers and placement of FILE) or FILE.toml (a whole stack); default: "
      "dram and the second tier");
  command.add_option("--rate", options.rate, "Updates per second (default: the profile's)")
      ->check(CLI::Range(1.0, 1e8));
  command
      .add_option("--seconds", options.seconds,
                  "Duration of the test in s (default: the profile's)")
      ->check(CLI::Range(0.1, 86'400.0));
  command.add_option("--symbols", options.symbols, "Number of symbols (default: the profile's)")
      ->check(CLI::Range(int64_t{1}, int64_t{65'536}));
  command.add_option("--seed", options.seed, "Random seed; the same seed gives the same rows");
  command
      .add_option("--prestress-quotes", options.prestress_quotes,
                  "Quotes to load into each rdb before the test (default: as many as fit)")
      ->check(CLI::Range(int64_t{0}, int64_t{4'000'000'000}));
  command
      .add_option("--prestress-trades", options.prestress_trades,
                  "Trades to load into each rdb before the test (default: as many as fit)")
      ->check(CLI::Range(int64_t{0}, int64_t{4'000'000'000}));
  command
      .add_option("--tp-batch-ms", options.batch_ms, "Publish interval of the tickerplants in ms")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
  command
      .add_option("--query-ms", options.query_ms,
                  "Query interval of the monitors in ms (default: 300, or 20 with --find-max)")
      ->check(CLI::Range(1.0, 3'600'000.0));
  command
      .add_option("--queries", options.queries,
                  "Query clients besides the monitors: monitor (no clients), paper, heavy, or a "
                  "file such as desk.toml")
      ->capture_default_str();
  command.add_option("--matrix", options.matrix,
                     "Run the stacks of paper-test1 or paper-test2 instead of --stack");
  command.add_option(
      "--second-tier", options.second_tier,
      "Second tier of --matrix and of the default stacks: a directory, or a tier as in --stack "
      "(default: /dev/shm)");
  command.add_flag("--find-max", options.find_max,
                   "Find the highest rate that each stack sustains");
  command
      .add_option("--below-ms", options.below_ms,
                  "With --find-max: upper bound of the 99th percentile of latency in ms")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--out", options.out, "Directory for the results (default: loadtest-TIME)");
  command.add_option(
      "--work", options.work,
      "Directory for tickerplant logs during the test (default: the results directory)");
  command.callback([&options, &args, &action] {
    options.command = CommandLine(args);
    action = [&options] { return loadtest::RunLoadTest(options); };
  });
}

void AddDemoCommand(CLI::App& app, LoadTestOptions& options, const std::vector<std::string>& args,
                    Action& action) {
  options.seconds = kDemoSeconds;
  options.rate = kDemoRate;
  options.prestress_quotes = kDemoQuotes;
  options.prestress_trades = kDemoTrades;
  options.query_ms = kDemoQueryMs;
  options.how_to_go_on = true;
  CLI::App& command = *app.add_subcommand(
      "demo", "Run a short load test of two stacks, one in DRAM and one in a second tier");
  command.add_option("--seconds", options.seconds, "Duration of the test in s (default: 30)")
      ->check(CLI::Range(0.1, 86'400.0));
  command.add_option("--rate", options.rate, "Updates per second (default: 48,000)")
      ->check(CLI::Range(1.0, 1e8));
  command
      .add_option("--prestress-quotes", options.prestress_quotes,
                  "Quotes to load into each rdb before the test (default: 2 million)")
      ->check(CLI::Range(int64_t{0}, int64_t{4'000'000'000}));
  command.add_option("--out", options.out,
                     "Directory for the results (default: a new directory in TMPDIR)");
  command.callback([&options, &args, &action] {
    options.command = CommandLine(args);
    options.prestress_trades.reset();
    action = [&options] {
      if (options.out.empty()) options.out = DemoFolder();
      options.second_tier = DemoTier(options.out);
      return loadtest::RunLoadTest(options);
    };
  });
}

}  // namespace tickstack::cli
