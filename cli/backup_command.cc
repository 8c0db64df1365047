#include "cli/backup_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "backup/backup.h"
#include "backup/restore.h"
#include "base/human_text.h"
#include "base/machine.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/stack_config.h"

namespace tickstack::cli {
namespace {

constexpr int kExitWrongBackup = 2;
constexpr int kThreadsMax = 4;

int BackupFailed(const absl::Status& why, int exit_code) {
  std::fprintf(stderr, "%s\n", std::string(Message(why)).c_str());
  return exit_code;
}

// The database that the stack's rdb writes and its hdb serves.
absl::StatusOr<std::string> DatabaseOf(const StackConfig& config) {
  if (config.shard_map != nullptr) {
    return Unimplemented(
        "the stack has shards, and a backup has one database: back up the folders "
        "of the shards in {} one by one",
        config.data);
  }
  std::string database = config.hdb ? config.hdb->database : "";
  for (const rdb::RdbMainOptions& rdb : config.rdbs) {
    if (!rdb.end_of_day) continue;
    const std::string& written = rdb.end_of_day->database;
    if (!written.empty() && !database.empty() && database != written) {
      return Unimplemented("rdb {} writes {}, and the hdb serves {}: a backup has one database",
                           rdb.name, written, database);
    }
    if (!written.empty()) database = written;
  }
  return database.empty() ? config.data + "/hdb" : database;
}

uint64_t BytesOf(const backup::Manifest& manifest) {
  uint64_t bytes = 0;
  for (const auto& [path, file] : manifest.files) bytes += file.bytes;
  return bytes;
}

nlohmann::ordered_json BackupJson(const backup::Manifest& manifest) {
  return {{"time", FormatTimestamp(manifest.time_ns)},
          {"files", manifest.files.size()},
          {"bytes", BytesOf(manifest)},
          {"messages", manifest.messages}};
}

void PrintLogs(const backup::Manifest& manifest) {
  for (const auto& [path, messages] : manifest.messages) {
    std::printf("%s: %s messages\n", path.c_str(),
                Thousands(static_cast<int64_t>(messages)).c_str());
  }
}

void PrintBackup(const BackupCommandOptions& options, const backup::BackupReport& report) {
  if (options.json) {
    nlohmann::ordered_json json = BackupJson(report.manifest);
    json["files_copied"] = report.files_copied;
    json["bytes_copied"] = report.bytes_copied;
    json["files_kept"] = report.files_kept;
    json["problems"] = report.problems;
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  PrintLogs(report.manifest);
  std::printf("%s: %s in %s files copied, %s files as before, %s in all\n",
              options.destination.c_str(), BytesText(report.bytes_copied).c_str(),
              Thousands(static_cast<int64_t>(report.files_copied)).c_str(),
              Thousands(static_cast<int64_t>(report.files_kept)).c_str(),
              BytesText(BytesOf(report.manifest)).c_str());
}

}  // namespace

int RunBackup(const BackupCommandOptions& options) {
  absl::StatusOr<StackConfig> config = LoadStackConfig(options.config);
  if (!config.ok()) return BackupFailed(config.status(), kExitWrongBackup);
  RestrictFileAccess(config->readable_by);
  if (options.data) SetData(*config, *options.data);
  const absl::StatusOr<std::string> database = DatabaseOf(*config);
  if (!database.ok()) return BackupFailed(database.status(), EXIT_FAILURE);
  const absl::StatusOr<backup::BackupReport> report =
      backup::BackUp({.config = options.config,
                      .data = config->data,
                      .database = *database,
                      .destination = options.destination,
                      .threads = std::min(ThisMachine().cores, kThreadsMax)});
  if (!report.ok()) return BackupFailed(report.status(), EXIT_FAILURE);
  PrintBackup(options, *report);
  for (const std::string& problem : report->problems) {
    std::fprintf(stderr, "damaged: %s\n", problem.c_str());
  }
  return report->problems.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int RunRestore(const RestoreCommandOptions& options) {
  RestrictFileAccess(FileAccess::kOwner);
  const bool verifies = options.data.empty();
  const absl::StatusOr<backup::Manifest> manifest =
      verifies ? backup::VerifyBackup(options.source)
               : backup::Restore({.source = options.source, .data = options.data});
  if (!manifest.ok()) return BackupFailed(manifest.status(), EXIT_FAILURE);
  if (options.json) {
    std::printf("%s\n", BackupJson(*manifest).dump(2).c_str());
    return EXIT_SUCCESS;
  }
  PrintLogs(*manifest);
  std::printf("%s: %s files, %s, as of %s UTC\n",
              verifies ? options.source.c_str() : options.data.c_str(),
              Thousands(static_cast<int64_t>(manifest->files.size())).c_str(),
              BytesText(BytesOf(*manifest)).c_str(), FormatTimestamp(manifest->time_ns).c_str());
  return EXIT_SUCCESS;
}

}  // namespace tickstack::cli
