#include "cli/shared_options.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "base/status.h"
#include "cli/stack_config.h"

namespace tickstack::cli {

absl::Status ReadFromZero(const ConfigTable& table, std::string_view key, double* target) {
  TS_RETURN_IF_ERROR(table.Read(key, target));
  if (*target >= 0) return absl::OkStatus();
  return table.ErrorAt(key, fmt::format("expected a number from 0 on, found {}", *target));
}

absl::Status ReadQuerySettings(const ConfigTable& table, serve::QuerySettings& options) {
  TS_RETURN_IF_ERROR(table.Read("query_threads", &options.query_threads, 1, 256));
  TS_RETURN_IF_ERROR(table.Read("query_helpers", &options.query_helpers, 0, 1024));
  TS_RETURN_IF_ERROR(table.Read("query_nice", &options.query_nice, 0, 19));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "query_timeout_s", &options.query_timeout_s));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "query_slow_ms", &options.query_slow_ms));
  TS_RETURN_IF_ERROR(table.ReadBytes("query_max_bytes", &options.query_max_bytes));
  TS_RETURN_IF_ERROR(table.ReadBytes("query_unread_bytes", &options.query_unread_bytes));
  return ReadFromZero(table, "query_unread_timeout_s", &options.query_unread_timeout_s);
}

void AddQueryFlags(CLI::App& command, serve::QuerySettings& options) {
  command
      .add_option("--query-threads", options.query_threads, "Number of threads that answer queries")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--query-helpers", options.query_helpers,
                  "Additional threads for parallel queries (default: number of cores minus one)")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--query-nice", options.query_nice,
                  "Nice value of the query threads; higher leaves more CPU time for updates")
      ->check(CLI::Range(0, 19))
      ->capture_default_str();
  command
      .add_option("--query-timeout-s", options.query_timeout_s,
                  "Time limit of a query in s; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--query-slow-ms", options.query_slow_ms,
                  "Log queries that take longer than this many ms; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddBytesFlag(command, "--query-max-bytes", options.query_max_bytes,
               "Memory limit of one query, such as 64MiB; 0: the size of the query tier, or 1GiB "
               "if it is DRAM");
  AddBytesFlag(command, "--query-unread-bytes", options.query_unread_bytes,
               "Memory limit of all answers not yet read by clients; 0: twice --query-max-bytes");
  command
      .add_option(
          "--query-unread-timeout-s", options.query_unread_timeout_s,
          "Disconnect a client that has not read an answer after this many seconds, plus 1 s per "
          "4 MiB; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void AddDataFlag(CLI::App& command, StackConfig& config) {
  command
      .add_option_function<std::string>(
          "--data", [&config](const std::string& data) { SetData(config, data); }, "Data directory")
      ->default_str(config.data);
}

void AddDateFlag(CLI::App& command, StackConfig& config, const std::string& help) {
  command.add_option_function<std::string>(
      "--date",
      [&config](const std::string& date) { ThrowUnlessOk("--date", SetDate(config, date)); }, help);
}

CLI::Option* AddBytesFlag(CLI::App& command, const std::string& flag, size_t& target,
                          const std::string& help) {
  return command
      .add_option_function<std::string>(
          flag,
          [&target, flag](const std::string& text) {
            const std::optional<size_t> bytes = ParseBytes(text);
            if (!bytes)
              throw CLI::ValidationError(flag, "expected a size such as 64MiB, found " + text);
            target = *bytes;
          },
          help)
      ->default_str(target == SIZE_MAX ? "no limit" : std::to_string(target));
}

CLI::Option* AddDurationFlag(CLI::App& command, const std::string& flag, int64_t& target_ns,
                             const std::string& help) {
  return command.add_option_function<std::string>(
      flag,
      [&target_ns, flag](const std::string& text) {
        const std::optional<int64_t> ns = ParseDuration(text);
        if (!ns) throw CLI::ValidationError(flag, "expected a duration such as 17h, found " + text);
        target_ns = *ns;
      },
      help);
}

void ThrowUnlessOk(const std::string& flag, const absl::Status& status) {
  if (!status.ok()) throw CLI::ValidationError(flag, std::string(Message(status)));
}

}  // namespace tickstack::cli
