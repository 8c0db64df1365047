#include "cli/hdb_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/printable.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "cli/hdb_archive.h"
#include "disk/database_check.h"

namespace tickstack::cli {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const std::vector<disk::Finding>& findings) {
  Json json = Json::array();
  for (const disk::Finding& finding : findings) {
    Json one = {{"file", finding.path}};
    if (finding.byte) one["byte"] = *finding.byte;
    one["what"] = finding.what;
    json.push_back(std::move(one));
  }
  return json;
}

void PrintLines(const std::vector<disk::Finding>& findings, std::string_view before) {
  for (const disk::Finding& finding : findings) {
    fmt::print("{}{}: {}{}\n", before, Printable(finding.path),
               finding.byte ? fmt::format("byte {}: ", *finding.byte) : "", finding.what);
  }
}

void PrintJson(const std::string& directory, const disk::DatabaseCheck& check) {
  const Json json = {
      {"database", directory},
      {"partitions", check.partitions},
      {"tables", check.tables},
      {"columns", check.columns},
      {"rows", check.rows},
      {"bytes", check.disk_bytes},
      {"tables_without_checksums", check.unchecksummed_tables},
      {"sound", check.is_sound()},
      {"findings", JsonOf(check.findings)},
      {"findings_left_off", check.findings_left_off},
      {"warnings", JsonOf(check.warnings)},
  };
  // Names of files may be any bytes; invalid UTF-8 becomes U+FFFD.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void PrintText(const std::string& directory, const disk::DatabaseCheck& check) {
  PrintLines(check.findings, "");
  PrintLines(check.warnings, "warning: ");
  if (check.findings_left_off > 0) {
    fmt::print("and {} more of the same files\n", check.findings_left_off);
  }
  if (check.unchecksummed_tables > 0) {
    fmt::print(
        "{} of {} tables have no checksums, as kdb+ writes none: damage within values is not "
        "found; "
        "`tickstack hdb checksum {}` writes them\n",
        check.unchecksummed_tables, check.tables, Printable(directory));
  }
  fmt::print("{}: {} partitions, {} tables, {} columns, {} rows, {} bytes: {}\n", directory,
             check.partitions, check.tables, check.columns, check.rows, check.disk_bytes,
             check.is_sound() ? "sound" : "damaged");
}

}  // namespace

int RunHdbCheck(const HdbCheckOptions& options) {
  const size_t threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  WorkerPool workers(threads - 1);  // The main thread is one of them.
  s3::ArchiveAccess archive;        // Destroyed after all columns are closed.
  const absl::StatusOr<s3::ArchiveSettings> settings = ArchiveSettingsOf(options.config);
  const absl::Status opened = settings.ok() ? archive.Begin(*settings) : settings.status();
  if (!opened.ok()) {
    fmt::print(stderr, "tickstack hdb check: {}\n", Message(opened));
    return 1;
  }
  const absl::StatusOr<disk::DatabaseCheck> check = disk::CheckDatabase(options.directory, workers);
  if (!check.ok()) {
    fmt::print(stderr, "tickstack hdb check: {}\n", Message(check.status()));
    return 1;
  }
  options.json ? PrintJson(options.directory, *check) : PrintText(options.directory, *check);
  const bool passes = check->is_sound() && (!options.strict || check->warnings.empty());
  return passes ? 0 : 1;
}

}  // namespace tickstack::cli
