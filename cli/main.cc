// The `tickstack` command: a subcommand per process and per tool. Exit codes: 0 done, 1 failed, 2
// wrong usage, 3 another process took this one's place.

#include <fmt/format.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/machine.h"
#include "base/nearest_name.h"
#include "base/status.h"
#include "cli/backup_command.h"
#include "cli/check_command.h"
#include "cli/eod_command.h"
#include "cli/hdb_archive.h"
#include "cli/hdb_balance.h"
#include "cli/hdb_bench.h"
#include "cli/hdb_check.h"
#include "cli/hdb_checksum.h"
#include "cli/hdb_export.h"
#include "cli/hdb_generate.h"
#include "cli/hdb_import.h"
#include "cli/hdb_merge.h"
#include "cli/hdb_migrate.h"
#include "cli/hdb_queries.h"
#include "cli/hdb_repair.h"
#include "cli/init_command.h"
#include "cli/loadtest_command.h"
#include "cli/log_command.h"
#include "cli/metrics_command.h"
#include "cli/process_commands.h"
#include "cli/query_command.h"
#include "cli/replay_command.h"
#include "cli/report_command.h"
#include "cli/shard_command.h"
#include "cli/tables_command.h"
#include "cli/tiers_command.h"
#include "cli/top_command.h"
#include "cli/up_command.h"
#include "cli/usage_error.h"
#include "cli/user_command.h"
#include "cli/version_command.h"
#include "loadtest/load_test.h"

namespace tickstack::cli {
namespace {

constexpr int kExitUsage = 2;

void AddUpCommand(CLI::App& app, UpOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand("up", "Run a whole stack; Ctrl-C shuts it down in order");
  command.add_option("config", options.config, "Stack configuration, such as examples/stack.toml")
      ->required();
  command.add_option("--data", options.data, "Data directory (default: from the configuration)");
  command.add_option("--date", options.date,
                     "Use this fixed date for a replay, such as 2013.10.07");
  command.add_flag("--no-feed", options.no_feed, "Do not start the feeds of the configuration");
  command.add_flag("--feeds-wait", options.feeds_wait,
                   "Make feeds wait for .feed.start[] before they publish");
  command
      .add_option(
          "--ports", options.ports,
          "First TCP port; other processes get the ports after it. 0 lets the kernel choose "
          "(see --ready-file)")
      ->check(CLI::Range(0, 65535));
  command.add_option(
      "--ready-file", options.ready_file,
      "File to write once all processes are ready: names, roles, pids and ports as JSON");
  command.add_option("--parent-fd", options.parent_fd, "Stop when this inherited pipe closes")
      ->group("Passed by the parent process");
  command
      .add_option("--seconds", options.seconds,
                  "Stop this many seconds after all processes are ready")
      ->check(CLI::NonNegativeNumber);
  command.callback([&] { action = [&] { return RunUp(options); }; });
}

void AddCheckCommand(CLI::App& app, CheckOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "check",
      "Show every error in a configuration; if there is none, show what its stack would use");
  command.add_option("config", options.config, "Stack configuration")->required();
  command.add_option("--data", options.data, "Data directory (default: from the configuration)");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.callback([&] { action = [&] { return RunCheck(options); }; });
}

void AddInitCommand(CLI::App& app, InitOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "init", "Write a commented configuration: asks five questions, or takes flags");
  command.add_option("file", options.path, "File to write")->capture_default_str();
  command.add_option("--data", options.data, "Data directory (default: data)");
  command.add_option(
      "--feed", options.feed,
      "sim (default): a simulated market; lean: an archive of real ticks; none: your "
      "own feed handlers");
  command.add_option("--ticks", options.ticks,
                     "With lean: directory of the archive, which has a directory for each symbol");
  command.add_option("--date", options.date,
                     "With lean: day to replay, such as 2013.10.07 (default: the archive's first)");
  command.add_option("--columns", options.columns,
                     "dram (default): all of today's columns in DRAM; tier: most of them in a "
                     "second memory tier");
  command.add_option("--tier-path", options.tier_path,
                     "With tier: its directory, such as a DAX mount");
  command.add_option("--tier-size", options.tier_size, "With tier: its size, such as 64GiB");
  command.add_option(
      "--clients", options.clients,
      "local (default): only this machine connects; others: other machines too, with "
      "a login");
  command.add_option("--users", options.users, "Users file (tickstack user --help)");
  command.add_option("--certificate", options.certificate, "Certificate for TLS, in PEM");
  command.add_option("--key", options.key, "Private key of the certificate, in PEM");
  command.add_option("--ca", options.ca,
                     "Certificates that the stack's processes trust (default: the system's)");
  command.add_option("--server-name", options.server_name,
                     "Name in the certificate, if it is not for 127.0.0.1");
  command.add_option("--port", options.port, "First of six ports (default: 5010)");
  command.add_flag("--yes", options.yes,
                   "Ask nothing, and use the defaults of flags that are not given");
  command.add_flag("--force", options.force, "Replace an existing file");
  command.callback([&] { action = [&] { return RunInit(options); }; });
}

void AddBackupCommand(CLI::App& app, BackupCommandOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "backup", "Copy the logs, database and configuration of a stack, which may be running");
  command.add_option("config", options.config, "Stack configuration")->required();
  command
      .add_option("destination", options.destination,
                  "Directory of the backup; files that it already has are not copied again")
      ->required();
  command.add_option("--data", options.data, "Data directory (default: from the configuration)");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.callback([&] { action = [&] { return RunBackup(options); }; });
}

void AddRestoreCommand(CLI::App& app, RestoreCommandOptions& options, Action& action) {
  CLI::App& command =
      *app.add_subcommand("restore", "Copy a backup into a new data directory, or verify it");
  command.add_option("backup", options.source, "Directory of the backup")->required();
  command.add_option(
      "data", options.data,
      "New data directory; without it, the backup is verified and nothing is written");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.callback([&] { action = [&] { return RunRestore(options); }; });
}

// How a client logs in at processes, and whose certificates it trusts.
void AddLoginOptions(CLI::App& command, QueryOptions& options) {
  auto* user = command.add_option("--user", options.user,
                                  "User name; the password is read from TICKSTACK_PASSWORD");
  command
      .add_option("--credentials", options.credentials,
                  "File with the line user:password (mode 0600), instead of --user")
      ->excludes(user);
  command.add_option("--ca", options.tls.ca,
                     "For tcps://: file of the certificates to trust (default: the system's)");
  command.add_option("--server-name", options.tls.server_name,
                     "For tcps://: name in the server's certificate (default: HOST)");
}

void AddQueryCommand(CLI::App& app, QueryOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "query", "Evaluate q in processes: one expression, a script, or an interactive shell");
  command
      .add_option("address", options.address,
                  "HOST:PORT, :PORT, tcps://HOST:PORT or unix:PATH, or several of them, separated "
                  "by commas")
      ->required();
  auto* question = command.add_option(
      "q", options.query,
      "Expression, such as 'count trade', or - to read it from stdin; without it, a shell starts");
  command.add_option("--file", options.file, "Script whose statements are sent one after another")
      ->excludes(question);
  auto* json = command.add_flag_callback(
      "--json", [&] { options.format = OutputFormat::kJson; }, "Print the answer as JSON");
  auto* csv = command.add_flag_callback(
      "--csv", [&] { options.format = OutputFormat::kCsv; }, "Print the answer as CSV");
  auto* arrow = command.add_flag_callback(
      "--arrow", [&] { options.format = OutputFormat::kArrow; },
      "Write the answer, which must be a table, in Arrow's streaming format to stdout");
  arrow->excludes(json)->excludes(csv);
  command
      .add_flag_callback(
          "--parquet", [&] { options.format = OutputFormat::kParquet; },
          "Write the answer, which must be a table, as Parquet to stdout, which must be a file or "
          "pipe")
      ->excludes(json)
      ->excludes(csv)
      ->excludes(arrow);
  csv->excludes(json);
  AddLoginOptions(command, options);
  command.add_option("--timeout", options.timeout_s, "Seconds to wait for an answer (default: 30)")
      ->check(CLI::PositiveNumber);
  command.callback([&] { action = [&] { return RunQuery(options); }; });
}

void AddTopCommand(CLI::App& app, TopOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "top", "Show rates, lags, latency and memory of a stack's processes, each second");
  command
      .add_option("target", options.target,
                  "Stack configuration, or HOST:PORT of processes, separated by commas")
      ->capture_default_str();
  command.add_flag(
      "--once", options.once,
      "Print one snapshot as text, then exit; exit code 1 if a process does not answer");
  command.add_flag("--json", options.json, "Print one JSON object");
  AddLoginOptions(command, options.login);
  command.callback([&] { action = [&] { return RunTop(options); }; });
}

void AddUsersFileOptions(CLI::App& command, UserOptions& options) {
  auto* config = command.add_option("--config", options.config,
                                    "Stack configuration whose [security] names the users file");
  command.add_option("--users", options.users, "Users file")->excludes(config);
}

void AddUserRightsOptions(CLI::App& command, UserOptions& options) {
  const auto add = [&command](const std::string& flag, std::vector<std::string>& target,
                              const std::string& help) {
    command.add_option(flag, target, help)->delimiter(',')->allow_extra_args(false);
  };
  add("--group", options.groups, "Groups whose rights the user gets, separated by commas");
  add("--publish", options.publish, "Tables to which the user may publish; '*': all");
  add("--subscribe", options.subscribe, "Tables to which the user may subscribe; '*': all");
  add("--symbols", options.symbols, "Symbols of the tables in --subscribe (default: all)");
  add("--query", options.query, "Tables that the user may query; '*': all");
  command.add_flag("--metrics", options.metrics,
                   "Give the right to read /metrics and the live page, as Prometheus needs");
  command.add_flag(
      "--administer", options.administer,
      "Give the right to administer, such as to end days, reload databases or start feeds");
}

void AddUserCommand(CLI::App& app, UserOptions& options, Action& action) {
  CLI::App& command =
      *app.add_subcommand("user", "Add, remove or list users, or change their passwords");
  command.require_subcommand(1);
  const auto add = [&](const std::string& name, const std::string& help,
                       int (*run)(const UserOptions&)) -> CLI::App& {
    CLI::App& sub = *command.add_subcommand(name, help);
    AddUsersFileOptions(sub, options);
    sub.callback([&action, &options, run] { action = [&options, run] { return run(options); }; });
    return sub;
  };
  const std::string reads = "; reads the password from the terminal or stdin";
  CLI::App& added = add("add", "Add a user" + reads, RunUserAdd);
  CLI::App& passwd = add("passwd", "Change a password" + reads, RunUserPasswd);
  CLI::App& removed = add("remove", "Remove a user", RunUserRemove);
  CLI::App& list = add("list", "List users and their rights", RunUserList);
  for (CLI::App* sub : {&added, &passwd, &removed}) {
    sub->add_option("name", options.name, "Name of the user")->required();
  }
  for (CLI::App* sub : {&added, &passwd}) {
    sub->add_flag(
        "--token", options.token,
        "Choose a random password, and print it as a bearer token for HTTP: NAME.PASSWORD");
  }
  AddUserRightsOptions(added, options);
  list.add_flag("--json", options.json, "Print one JSON object per user");
}

void AddTiersCommand(CLI::App& app, TiersOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand("tiers",
                                          "Show the memory tier of each column in a configuration, "
                                          "and the memory that its rows would need");
  command.add_option("config", options.config, "Stack configuration")->required();
  command.add_flag("--json", options.json, "Print one JSON object");
  command
      .add_option(
          "--rows", options.rows,
          "Number of rows: one for all tables, such as 1000000 (the default), or one for each, "
          "such as quote=650000000,trade=85000000; the exit code is 1 if they do not fit")
      ->type_name("ROWS")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.callback([&] { action = [&] { return RunTiers(options); }; });
}

void AddTablesCommand(CLI::App& app, TablesOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "tables", "Print the section [tables] for the tables of a q script or a database");
  command
      .add_option("source", options.source,
                  "q script, such as sym.q of kdb+tick, or directory of a database, whose newest "
                  "partition is read")
      ->required();
  command.callback([&] { action = [&] { return RunTables(options); }; });
}

void AddEodCommand(CLI::App& app, EodOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "eod", "End the day of a running stack, or write a past day from its log");
  command.add_option("--config", options.config, "Stack configuration");
  command.add_option("--data", options.data, "Data directory (default: from the configuration)");
  command.add_option("--tickerplant", options.tickerplant,
                     "Address of the tickerplant (default: from the configuration)");
  command.add_option("--credentials", options.credentials,
                     "File with the line user:password to log in with (default: the stack's own)");
  command.add_option("--rdb", options.rdb,
                     "Address of the rdb that writes the day (default: from the configuration)");
  command.add_option("--timeout", options.timeout_s, "Seconds to wait for the day to be written")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--date", options.date,
                     "Write this day, such as 2013.10.07, from its log; no rdb is needed");
  command.add_option("--log", options.log,
                     "With --date: path of the log (default: the log of that date)");
  command.add_option("--database", options.database,
                     "With --date: database directory (default: from the configuration)");
  command.callback([&] { action = [&] { return RunEod(options); }; });
}

void AddReportCommand(CLI::App& app, std::string& directory, Action& action) {
  CLI::App& command =
      *app.add_subcommand("report", "Regenerate the report page of a load test from its files");
  command.add_option("directory", directory, "Results directory of the load test")->required();
  command.callback([&] { action = [&] { return RunReport(directory); }; });
}

void AddCompareCommand(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "compare", "Compare two load tests: show the figures that differ by more than their spread");
  command.add_option("first", options.first, "Results directory of the first load test")
      ->required();
  command.add_option("second", options.second, "Results directory of the second load test")
      ->required();
  command.add_flag("--json", options.json, "Print one JSON object");
  command.callback([&] { action = [&] { return RunCompare(options); }; });
}

void AddMetricsCommand(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "metrics", "List the metrics that processes serve at /metrics, as Markdown");
  command.callback([&] { action = [] { return RunMetrics(); }; });
}

struct ShardOptions {
  ShardOfOptions of;
  ShardPlanOptions plan;
};

void AddShardCommand(CLI::App& app, ShardOptions& options, Action& action) {
  CLI::App& command =
      *app.add_subcommand("shard", "Say which shard has a symbol, or plan a balanced map");
  command.require_subcommand(1);
  const std::string config_help = "Stack configuration with [[shard]] sections";

  CLI::App& of = *command.add_subcommand("of", "Print the shard of each symbol");
  of.add_option("--config", options.of.config, config_help)->required();
  of.add_option("symbols", options.of.symbols, "Symbols, such as SPY AAPL")->required();
  of.callback([&] { action = [&] { return RunShardOf(options.of); }; });

  CLI::App& plan = *command.add_subcommand(
      "plan", "Count rows by symbol, and print [[shard]] sections with equal rows");
  plan.add_option("--config", options.plan.config, config_help)->required();
  plan.add_option("--date", options.plan.date, "Day to count at an hdb, such as 2013.10.07");
  plan.add_option("sources", options.plan.sources,
                  "Logs, and addresses of rdbs or hdbs, that are counted together")
      ->required();
  plan.callback([&] { action = [&] { return RunShardPlan(options.plan); }; });
}

struct LogOptions {
  LogDumpOptions dump;
  LogCheckOptions check;
  LogRepairOptions repair;
};

void AddLogCommand(CLI::App& app, LogOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand("log", "Print, check or repair a tickerplant log");
  command.require_subcommand(1);

  CLI::App& dump = *command.add_subcommand("dump", "List the messages");
  dump.add_option("file", options.dump.file, "Path of the log")->required();
  dump.add_flag("--json", options.dump.json, "Print one JSON object per line");
  dump.add_flag("--values", options.dump.values, "Include the rows of each message");
  dump.add_option("--from", options.dump.from, "Number of the first message")
      ->capture_default_str();
  dump.add_option("--count", options.dump.count, "Number of messages (default: all)");
  dump.add_option("--table", options.dump.table, "Only messages of this table");
  dump.callback([&] { action = [&] { return RunLogDump(options.dump); }; });

  CLI::App& check =
      *command.add_subcommand("check", "Read the whole log, and report damage with its position");
  check.add_option("file", options.check.file, "Path of the log")->required();
  check.add_flag("--json", options.check.json, "Print one JSON object");
  check.callback([&] { action = [&] { return RunLogCheck(options.check); }; });

  CLI::App& repair = *command.add_subcommand(
      "repair", "Remove an incomplete message at the end, and rebuild the index");
  repair.add_option("file", options.repair.file, "Path of the log")->required();
  repair.add_flag("--json", options.repair.json, "Print one JSON object");
  repair.add_flag("--skip-damaged", options.repair.skip_damaged,
                  "Copy all undamaged messages, also those after damage, to FILE.repaired");
  repair.callback([&] { action = [&] { return RunLogRepair(options.repair); }; });
}

struct HdbToolOptions {
  HdbCheckOptions check;
  HdbChecksumOptions checksum;
  HdbGenerateOptions generate;
  HdbMergeOptions merge;
  HdbMigrateOptions migrate;
  HdbRepairOptions repair;
  HdbArchiveOptions archive;
  HdbRecallOptions recall;
  HdbBalanceOptions balance;
  HdbBenchOptions bench;
  HdbExportOptions exports;
  HdbQueriesOptions queries;
  HdbImportOptions imports;
};

void AddHdbBench(CLI::App& hdb, HdbBenchOptions& options, Action& action) {
  CLI::App& bench = *hdb.add_subcommand(
      "bench", "Measure a disk with the tests of nano, KX's storage benchmark for kdb+");
  bench
      .add_option("directory", options.directory,
                  "Directory on the disk; files are written to a new directory in it, which is "
                  "removed at the end")
      ->required();
  bench
      .add_option("--processes", options.processes,
                  "Number of processes that run each test at the same time; several numbers, such "
                  "as 1,2,4, give a run for each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  bench.add_option("--threads", options.threads, "Number of threads of each process")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  bench
      .add_option("--size", options.size,
                  "Amount of data: tiny (2.5 GB on disk for each process), small (10 GB), full (50 "
                  "GB), double, or a factor such as 0.01 of full")
      ->capture_default_str();
  bench.add_option("--seconds", options.seconds, "Time limit of a test that repeats an operation")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  bench
      .add_option("--scope", options.scope,
                  "full: all tests; cpuonly: no files; diskonly: no tests of processors")
      ->capture_default_str();
  bench
      .add_option("--exclude", options.excluded,
                  "Leave out tests whose id matches a pattern, such as '.cpu.group*'; can be given "
                  "several times")
      ->allow_extra_args(false);
  bench
      .add_option(
          "--drop", options.drop,
          "What to drop before cold reads: machine (the whole page cache; needs root), files "
          "(pages of the benchmark's files), none, or auto (machine if allowed, else files)")
      ->capture_default_str();
  bench.add_option("--results", options.results,
                   "Directory for files of results as nano writes them");
  bench.callback([&] { action = [&] { return RunHdbBench(options); }; });
}

// Adds the tools for databases to `tickstack hdb`, which otherwise runs the process.
void AddHdbTools(CLI::App& app, HdbToolOptions& options, Action& action) {
  const std::vector<CLI::App*> found =
      app.get_subcommands([](CLI::App* sub) { return sub->get_name() == "hdb"; });
  if (found.empty()) return;  // The configuration is that of another process.
  CLI::App* const hdb = found.front();

  CLI::App& check =
      *hdb->add_subcommand("check", "Read the whole database, and report damage with its position");
  check.add_option("directory", options.check.directory, "Database directory")->required();
  check.add_flag("--json", options.check.json, "Print one JSON object");
  check.add_option("--stack", options.check.config,
                   "Stack configuration, whose [hdb.tiers] names the object store; without it, "
                   "archived columns are not read");
  check.add_flag("--strict", options.check.strict, "Fail on warnings too");
  check
      .add_option("--threads", options.check.threads,
                  "Number of threads (default: number of cores)")
      ->check(CLI::Range(1, 1024));
  check.callback([&] { action = [&] { return RunHdbCheck(options.check); }; });

  CLI::App& checksum = *hdb->add_subcommand(
      "checksum", "Write checksums, after kdb+ wrote or changed files of a database");
  checksum
      .add_option("directory", options.checksum.directory,
                  "Directory of a database, or of a table in a partition")
      ->required();
  checksum.add_flag(
      "--accept-damage", options.checksum.accept_damage,
      "Also write checksums of files that do not match theirs although nobody has written them");
  checksum
      .add_option("--threads", options.checksum.threads,
                  "Number of threads (default: number of cores)")
      ->check(CLI::Range(1, 1024));
  checksum.callback([&] { action = [&] { return RunHdbChecksum(options.checksum); }; });

  CLI::App& generate =
      *hdb->add_subcommand("generate", "Write days of a simulated market to a database");
  generate.add_option("directory", options.generate.directory, "Database directory")->required();
  generate.add_option("--days", options.generate.days, "Number of weekdays to write")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  generate.add_option("--from", options.generate.from, "First day")->capture_default_str();
  generate.add_option("--symbols", options.generate.symbols, "Number of symbols")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  generate.add_option("--quotes", options.generate.quotes, "Quotes per day")
      ->check(CLI::Range(int64_t{1}, int64_t{3'000'000'000}))
      ->capture_default_str();
  generate
      .add_option("--trades", options.generate.trades,
                  "Trades per day (default: one for every ten quotes)")
      ->check(CLI::Range(int64_t{0}, int64_t{3'000'000'000}));
  generate
      .add_option("--seed", options.generate.seed,
                  "Random seed; the same seed gives the same market")
      ->capture_default_str();
  generate
      .add_option("--compression", options.generate.compression,
                  "none, ipc, gzip, snappy, lz4 or zstd, optionally with a level, such as gzip-6")
      ->capture_default_str();
  generate.callback([&] { action = [&] { return RunHdbGenerate(options.generate); }; });

  CLI::App& repair =
      *hdb->add_subcommand("repair", "Rebuild a damaged column from the log of its day");
  repair.add_option("directory", options.repair.directory, "Database directory")->required();
  repair.add_option("date", options.repair.date, "Day of the partition, such as 2024.01.02")
      ->required();
  repair.add_option("table", options.repair.table, "Name of the table")->required();
  repair.add_option("column", options.repair.column, "Name of the column")->required();
  repair.add_option("--log", options.repair.log, "Path of the day's log")->required();
  repair.add_option("--stack", options.repair.config,
                    "Stack configuration; needed if it sets tables or compression");
  repair.callback([&] { action = [&] { return RunHdbRepair(options.repair); }; });

  CLI::App& merge =
      *hdb->add_subcommand("merge", "Add late rows or corrections to a past partition");
  AddHdbMergeOptions(merge, options.merge);
  merge.callback([&] { action = [&] { return RunHdbMerge(options.merge); }; });

  CLI::App& migrate =
      *hdb->add_subcommand("migrate", "Add, rename, cast or drop a column in all partitions");
  AddHdbMigrateOptions(migrate, options.migrate);
  migrate.callback([&] { action = [&] { return RunHdbMigrate(options.migrate); }; });

  CLI::App& archive =
      *hdb->add_subcommand("archive", "Move columns of old partitions to an object store");
  AddHdbArchiveOptions(archive, options.archive);
  archive.callback([&] { action = [&] { return RunHdbArchive(options.archive); }; });

  CLI::App& recall =
      *hdb->add_subcommand("recall", "Fetch columns of archived partitions from the object store");
  AddHdbRecallOptions(recall, options.recall);
  recall.callback([&] { action = [&] { return RunHdbRecall(options.recall); }; });

  CLI::App& balance = *hdb->add_subcommand(
      "balance", "Show the size of each segment; move partitions to balance them");
  balance.add_option("directory", options.balance.directory, "Database directory")->required();
  balance.add_flag("--json", options.balance.json, "Print one JSON object");
  balance.add_flag("--move", options.balance.move,
                   "Move partitions; without this flag, only show the planned moves");
  CLI::Option& old_segment = *balance.add_option(
      "--old-in", options.balance.old_segment,
      "Line of par.txt, such as a slower disk: old partitions go there, newer ones elsewhere");
  CLI::Option& older_than =
      *balance
           .add_option("--older-than", options.balance.older_than_days,
                       "With --old-in: age in days from which a partition is old")
           ->check(CLI::Range(0, 1'000'000))
           ->needs(&old_segment);
  old_segment.needs(&older_than);
  balance.callback([&] { action = [&] { return RunHdbBalance(options.balance); }; });

  AddHdbBench(*hdb, options.bench, action);
  CLI::App& exports =
      *hdb->add_subcommand("export", "Write partitions as Parquet files in Hive's layout");
  AddHdbExportOptions(exports, options.exports);
  exports.callback([&] { action = [&] { return RunHdbExport(options.exports); }; });
  CLI::App& queries = *hdb->add_subcommand(
      "queries", "Measure queries about years of ticks with 1, 10 and 100 clients");
  AddHdbQueriesOptions(queries, options.queries);
  queries.callback([&] { action = [&] { return RunHdbQueries(options.queries); }; });

  CLI::App& imports =
      *hdb->add_subcommand("import", "Write the rows of CSV or Arrow files as partitions");
  AddHdbImportOptions(imports, options.imports);
  imports.callback([&] { action = [&] { return RunHdbImport(options.imports); }; });
}

bool HasSubcommand(const CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&name](const CLI::App* sub) { return sub->get_name() == name; })
              .empty();
}

// Says which subcommand may have been meant.
int RefuseSubcommand(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
  const std::string nearest = NearestName(name, known);
  std::fprintf(stderr, "no subcommand %s%s\nRun with --help for more information.\n", name.c_str(),
               nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest).c_str());
  return kExitUsage;
}

// `help` and `help SUBCOMMAND` are what --help is.
std::vector<std::string> WithoutHelpWord(std::vector<std::string> args) {
  if (args.empty() || args[0] != "help") return args;
  std::rotate(args.begin(), args.begin() + 1, args.end());
  args.back() = "--help";
  return args;
}

int Main(const std::vector<std::string>& given) {
  if (AsksForVersion(given)) return RunVersion(given.size() == 2);
  const absl::StatusOr<std::vector<std::string>> resolved =
      ResolveProcessCommand(WithoutHelpWord(given));
  if (!resolved.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(resolved.status())).c_str());
    return kExitUsage;
  }
  const std::vector<std::string>& args = *resolved;
  absl::StatusOr<StackConfig> config = ConfigForProcess(args);
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(config.status())).c_str());
    return kExitUsage;
  }
  CLI::App app(
      "Captures and serves market data: the processes of a stack, and tools for its files");
  app.name("tickstack");
  // AsksForVersion has handled it: it needs no subcommand. This is for --help.
  app.add_flag("--version")
      ->description(
          "Print the version, the commit, and the versions of protocol and formats; with --json as "
          "one JSON object");
  app.require_subcommand(1);

  Action action;
  UpOptions up;
  CheckOptions check;
  InitOptions init;
  BackupCommandOptions backup;
  RestoreCommandOptions restore;
  loadtest::LoadTestOptions demo, loadtest;
  EodOptions eod;
  QueryOptions query;
  TopOptions top;
  TablesOptions tables;
  TiersOptions tiers;
  std::string report;
  CompareOptions compare;
  ReplayCommandOptions replay;
  LogOptions log;
  ShardOptions shard;
  HdbToolOptions hdb_tools;
  UserOptions user;
  AddUpCommand(app, up, action);
  AddCheckCommand(app, check, action);
  AddInitCommand(app, init, action);
  AddBackupCommand(app, backup, action);
  AddRestoreCommand(app, restore, action);
  AddDemoCommand(app, demo, args, action);
  AddLoadTestCommand(app, loadtest, args, action);
  AddEodCommand(app, eod, action);
  AddProcessCommands(app, *config, args, action);
  AddProcessByNameCommand(app);
  AddQueryCommand(app, query, action);
  AddTopCommand(app, top, action);
  AddTablesCommand(app, tables, action);
  AddTiersCommand(app, tiers, action);
  AddReportCommand(app, report, action);
  AddCompareCommand(app, compare, action);
  AddReplayCommand(app, replay, action);
  AddLogCommand(app, log, action);
  AddShardCommand(app, shard, action);
  AddMetricsCommand(app, action);
  AddHdbTools(app, hdb_tools, action);
  AddUserCommand(app, user, action);
  if (!args.empty() && !args[0].starts_with('-') && !HasSubcommand(app, args[0])) {
    return RefuseSubcommand(app, args[0]);
  }
  try {
    // It takes the last one first.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "%s\nRun with --help for more information.\n",
                 UsageErrorText(app, error).c_str());
    return kExitUsage;
  }
  return action();
}

}  // namespace
}  // namespace tickstack::cli

int main(int argc, char** argv) {
  tickstack::RaiseDescriptorLimit();  // Before a thread starts.
  // A child of `up` runs /proc/self/exe, which would be its name in a list of processes.
  prctl(PR_SET_NAME, "tickstack");
  return tickstack::cli::Main(std::vector<std::string>(argv + 1, argv + argc));
}
