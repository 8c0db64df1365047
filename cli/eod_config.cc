#include "cli/eod_config.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "disk/compression.h"

namespace tickstack::cli {
namespace {

absl::Status ReadCompression(const ConfigTable& table, disk::CompressionRules& rules) {
  for (const std::string& key : table.Keys()) {
    std::string text;
    TS_RETURN_IF_ERROR(table.Read(key, &text));
    const absl::StatusOr<disk::CompressionOptions> options = disk::ParseCompression(text);
    if (!options.ok()) return table.ErrorAt(key, Message(options.status()));
    rules.Set(key, *options);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadEndOfDay(const ConfigTable& root, const std::string& default_hdb,
                          std::vector<rdb::RdbMainOptions>& rdbs) {
  if (!root.Has("eod")) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const ConfigTable table, root.Table("eod"));
  rdb::EndOfDayOptions options;
  options.hdb = default_hdb;
  std::string writer;
  double retry_s = 5;
  TS_RETURN_IF_ERROR(table.Read("rdb", &writer));
  TS_RETURN_IF_ERROR(table.Read("database", &options.database));
  TS_RETURN_IF_ERROR(table.Read("log_folder", &options.log_folder));
  TS_RETURN_IF_ERROR(table.Read("hdb", &options.hdb));
  TS_RETURN_IF_ERROR(table.Read("threads", &options.threads, 1, 256));
  TS_RETURN_IF_ERROR(table.Read("nice", &options.nice, 0, 19));
  TS_RETURN_IF_ERROR(table.ReadBytes("memory", &options.memory_bytes));
  TS_RETURN_IF_ERROR(table.Read("keep_logs_days", &options.keep_logs_days, 1, 100'000));
  TS_RETURN_IF_ERROR(table.Read("retry_s", &retry_s));
  if (retry_s <= 0) return table.ErrorAt("retry_s", "expected a number above 0");
  options.retry_ns = static_cast<int64_t>(retry_s * static_cast<double>(kNsPerSecond));
  TS_ASSIGN_OR_RETURN(const ConfigTable compression, table.Table("compression"));
  TS_RETURN_IF_ERROR(ReadCompression(compression, options.compression));
  // Exactly one writes: two would race for each day.
  const auto found =
      writer.empty() ? rdbs.begin() : std::ranges::find(rdbs, writer, &rdb::RdbMainOptions::name);
  if (found == rdbs.end()) {
    return writer.empty()
               ? root.ErrorAt("eod", "expected an [rdb] that writes, found none")
               : table.ErrorAt("rdb", fmt::format("expected the name of an rdb of this file, found "
                                                  "\"{}\"",
                                                  writer));
  }
  if (found->prestress != nullptr) {
    return root.ErrorAt("eod", fmt::format("{} has rows that nobody logged, by its prestress: they "
                                           "are for measuring, not for the database",
                                           found->name));
  }
  found->end_of_day = std::move(options);
  return absl::OkStatus();
}

}  // namespace tickstack::cli
