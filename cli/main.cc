// The `tickstack` command: a subcommand per process and per tool. Exit codes: 0 done, 1 failed, 2
// wrong usage.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/machine.h"
#include "base/status.h"
#include "cli/eod_command.h"
#include "cli/hdb_balance.h"
#include "cli/hdb_check.h"
#include "cli/hdb_generate.h"
#include "cli/loadtest_command.h"
#include "cli/log_command.h"
#include "cli/process_commands.h"
#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/tiers_command.h"
#include "cli/up_command.h"
#include "loadtest/load_test.h"

namespace tickstack {
namespace {

constexpr int kExitUsage = 2;

void AddUpCommand(CLI::App& app, UpOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand("up", "Run a whole stack; Ctrl-C stops it in order");
  command
      .add_option("config", options.config,
                  "The stack's configuration, such as examples/stack.toml")
      ->required();
  command.add_option("--data", options.data, "The data directory, instead of the configuration's");
  command.add_option("--date", options.date, "Stay on this day, for a replay, such as 2013.10.07");
  command.add_flag("--no-feed", options.no_feed, "Without the configuration's feeds");
  command.add_flag("--feeds-wait", options.feeds_wait, "Feeds start when asked to: .feed.start[]");
  command
      .add_option("--ports", options.ports,
                  "First port, the others follow; 0: the kernel chooses (see --ready-file)")
      ->check(CLI::Range(0, 65535));
  command.add_option("--ready-file", options.ready_file,
                     "Written when all answer: names, roles, pids and ports as JSON");
  command.add_option("--parent-fd", options.parent_fd, "The stack stops when this pipe closes")
      ->group("Given by the program that starts it");
  command.add_option("--seconds", options.seconds, "Stop by itself so long after all answered")
      ->check(CLI::NonNegativeNumber);
  command.callback([&] { action = [&] { return RunUp(options); }; });
}

void AddQueryCommand(CLI::App& app, QueryOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand("query", "Ask processes in q: a question, or a shell");
  command
      .add_option("address", options.address,
                  "HOST:PORT, :PORT or unix:PATH; several with commas between")
      ->required();
  auto* question = command.add_option(
      "q", options.query, "The expression, such as 'count trade'; -: from stdin; none: a shell");
  command.add_option("--file", options.file, "A script: its statements, one after the other")
      ->excludes(question);
  auto* json = command.add_flag_callback(
      "--json", [&] { options.format = OutputFormat::kJson; }, "Answer as JSON");
  auto* csv = command.add_flag_callback(
      "--csv", [&] { options.format = OutputFormat::kCsv; }, "Answer as CSV");
  command
      .add_flag_callback(
          "--parquet", [&] { options.format = OutputFormat::kParquet; },
          "Answer as a Parquet file: a table, to a file or pipe")
      ->excludes(json)
      ->excludes(csv);
  csv->excludes(json);
  command.add_option("--user", options.user, "User name; its password is in TICKSTACK_PASSWORD");
  command.add_option("--timeout", options.timeout_s, "Seconds to wait for an answer; 30")
      ->check(CLI::PositiveNumber);
  command.callback([&] { action = [&] { return RunQuery(options); }; });
}

void AddTiersCommand(CLI::App& app, TiersOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "tiers", "Say what a configuration places where, and how much memory it takes");
  command.add_option("config", options.config, "The stack's configuration")->required();
  command.add_flag("--json", options.json, "One object");
  command.add_option("--rows", options.rows, "Rows of each table")
      ->check(CLI::Range(size_t{1}, size_t{100'000'000}))
      ->capture_default_str();
  command.callback([&] { action = [&] { return RunTiers(options); }; });
}

void AddEodCommand(CLI::App& app, EodOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "eod", "End the day of a running stack, or write a day that is over from its log");
  command.add_option("--config", options.config, "The stack's configuration");
  command.add_option("--data", options.data, "The data directory, instead of the configuration's");
  command.add_option("--tickerplant", options.tickerplant, "Whom to ask; the configuration's");
  command.add_option("--rdb", options.rdb, "The rdb that writes; the configuration's");
  command.add_option("--timeout", options.timeout_s, "Seconds to wait until the day is written")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--date", options.date,
                     "Write this day, such as 2013.10.07, from its log; no rdb is needed");
  command.add_option("--log", options.log, "With --date: the log, instead of that date's");
  command.add_option("--database", options.database,
                     "With --date: where to, instead of the configuration's");
  command.callback([&] { action = [&] { return RunEod(options); }; });
}

void AddReportCommand(CLI::App& app, std::string& directory, Action& action) {
  CLI::App& command =
      *app.add_subcommand("report", "Make the page of a load test's run again from its files");
  command.add_option("directory", directory, "The run's directory")->required();
  command.callback([&] { action = [&] { return RunReport(directory); }; });
}

void AddCompareCommand(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "compare", "Say which figures of two load tests differ by more than their spread");
  command.add_option("first", options.first, "A run's directory")->required();
  command.add_option("second", options.second, "Another's")->required();
  command.add_flag("--json", options.json, "One object");
  command.callback([&] { action = [&] { return RunCompare(options); }; });
}

struct LogOptions {
  LogDumpOptions dump;
  LogCheckOptions check;
  LogRepairOptions repair;
};

void AddLogCommand(CLI::App& app, LogOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand("log", "Look at, check or repair a tickerplant log");
  command.require_subcommand(1);

  CLI::App& dump = *command.add_subcommand("dump", "List the messages");
  dump.add_option("file", options.dump.file, "The log")->required();
  dump.add_flag("--json", options.dump.json, "An object per line");
  dump.add_flag("--values", options.dump.values, "Also the rows themselves");
  dump.add_option("--from", options.dump.from, "Number of the first message")
      ->capture_default_str();
  dump.add_option("--count", options.dump.count, "How many messages");
  dump.add_option("--table", options.dump.table, "Only messages of this table");
  dump.callback([&] { action = [&] { return RunLogDump(options.dump); }; });

  CLI::App& check = *command.add_subcommand("check", "Read it all; say what is damaged and where");
  check.add_option("file", options.check.file, "The log")->required();
  check.add_flag("--json", options.check.json, "One object");
  check.callback([&] { action = [&] { return RunLogCheck(options.check); }; });

  CLI::App& repair = *command.add_subcommand("repair", "Cut a torn tail, rebuild the index");
  repair.add_option("file", options.repair.file, "The log")->required();
  repair.add_flag("--json", options.repair.json, "One object");
  repair.add_flag("--skip-damaged", options.repair.skip_damaged,
                  "Write what is whole to FILE.repaired, beyond damage in the middle too");
  repair.callback([&] { action = [&] { return RunLogRepair(options.repair); }; });
}

struct HdbToolOptions {
  HdbCheckOptions check;
  HdbGenerateOptions generate;
  HdbBalanceOptions balance;
};

// Adds the tools for databases to `tickstack hdb`, which otherwise runs the process.
void AddHdbTools(CLI::App& app, HdbToolOptions& options, Action& action) {
  const std::vector<CLI::App*> found =
      app.get_subcommands([](CLI::App* sub) { return sub->get_name() == "hdb"; });
  if (found.empty()) return;  // The configuration is that of another process.
  CLI::App* const hdb = found.front();

  CLI::App& check = *hdb->add_subcommand("check", "Read it all; say what is damaged and where");
  check.add_option("directory", options.check.directory, "The database")->required();
  check.add_flag("--json", options.check.json, "One object");
  check.add_flag("--strict", options.check.strict, "Warnings are findings too");
  check.add_option("--threads", options.check.threads, "How many; as many as cores if not given")
      ->check(CLI::Range(1, 1024));
  check.callback([&] { action = [&] { return RunHdbCheck(options.check); }; });

  CLI::App& generate =
      *hdb->add_subcommand("generate", "Write days of the simulated market into a database");
  generate.add_option("directory", options.generate.directory, "The database")->required();
  generate.add_option("--days", options.generate.days, "Weekdays")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  generate.add_option("--from", options.generate.from, "The first day")->capture_default_str();
  generate.add_option("--symbols", options.generate.symbols, "How many")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  generate.add_option("--quotes", options.generate.quotes, "Quotes a day")
      ->check(CLI::Range(int64_t{1}, int64_t{3'000'000'000}))
      ->capture_default_str();
  generate
      .add_option("--trades", options.generate.trades,
                  "Trades a day (default: one for every ten quotes)")
      ->check(CLI::Range(int64_t{0}, int64_t{3'000'000'000}));
  generate.add_option("--seed", options.generate.seed, "The same seed gives the same market")
      ->capture_default_str();
  generate
      .add_option("--compression", options.generate.compression,
                  "none, ipc, gzip, snappy, lz4 or zstd; with a level as gzip-6")
      ->capture_default_str();
  generate.callback([&] { action = [&] { return RunHdbGenerate(options.generate); }; });

  CLI::App& balance =
      *hdb->add_subcommand("balance", "Say how full the segments are; move whole partitions");
  balance.add_option("directory", options.balance.directory, "The database")->required();
  balance.add_flag("--json", options.balance.json, "One object");
  balance.add_flag("--move", options.balance.move, "Move them; without it nothing is changed");
  balance.callback([&] { action = [&] { return RunHdbBalance(options.balance); }; });
}

bool HasSubcommand(const CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&name](const CLI::App* sub) { return sub->get_name() == name; })
              .empty();
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  absl::StatusOr<StackConfig> config = ConfigForProcess(args);
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(config.status())).c_str());
    return kExitUsage;
  }
  CLI::App app(
      "Market-data capture: a feed, a tickerplant, bars, real-time and historical databases, a "
      "monitor");
  app.name("tickstack");
  app.set_version_flag("--version", TICKSTACK_VERSION);
  app.require_subcommand(1);

  Action action;
  UpOptions up;
  loadtest::LoadTestOptions demo, loadtest;
  EodOptions eod;
  QueryOptions query;
  TiersOptions tiers;
  std::string report;
  CompareOptions compare;
  LogOptions log;
  HdbToolOptions hdb_tools;
  AddUpCommand(app, up, action);
  AddDemoCommand(app, demo, args, action);
  AddLoadTestCommand(app, loadtest, args, action);
  AddEodCommand(app, eod, action);
  AddTickerplantCommand(app, *config, action);
  AddRdbCommand(app, *config, action);
  AddHdbCommand(app, *config, action);
  AddFeedCommand(app, *config, action);
  AddAggEngineCommand(app, *config, action);
  AddMonitorCommand(app, *config, action);
  AddQueryCommand(app, query, action);
  AddTiersCommand(app, tiers, action);
  AddReportCommand(app, report, action);
  AddCompareCommand(app, compare, action);
  AddLogCommand(app, log, action);
  AddHdbTools(app, hdb_tools, action);
  if (!args.empty() && !args[0].starts_with('-') && !HasSubcommand(app, args[0])) {
    std::fprintf(stderr, "no subcommand %s\nRun with --help for more information.\n",
                 args[0].c_str());
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : kExitUsage;
  }
  return action();
}

}  // namespace
}  // namespace tickstack

int main(int argc, char** argv) {
  tickstack::RaiseDescriptorLimit();  // Before a thread starts.
  return tickstack::Main(argc, argv);
}
