#include "hdb/hdb.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/byte_buffer.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/mapping.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/archive_marker.h"
#include "disk/stored_value.h"

namespace tickstack::hdb {
namespace {

// Reports columns without their file, of the version of the partition that is loaded.
void FindMissingColumns(const disk::SplayedTable& part, std::vector<std::string>& problems) {
  const std::string version = part.DirectoryNow();
  const std::string& directory = version.empty() ? part.directory() : version;
  std::vector<std::string> found;
  const absl::StatusOr<std::optional<disk::ArchiveMarker>> marker =
      disk::ReadArchiveMarker(directory, disk::kArchivedName);
  if (!marker.ok()) found.emplace_back(Message(marker.status()));
  for (const std::string& column : part.column_names()) {
    if (marker.ok() && *marker && (*marker)->Find(column)) continue;
    const std::string path = fmt::format("{}/{}", directory, column);
    const absl::StatusOr<bool> is_there = FileExists(path);
    if (!is_there.ok()) found.emplace_back(Message(is_there.status()));
    if (!is_there.value_or(true)) found.push_back(path + ": no such file, which .d names");
  }
  if (part.DirectoryNow() != version) return;  // It was renamed meanwhile.
  problems.insert(problems.end(), found.begin(), found.end());
}

}  // namespace

LoadedDatabase::LoadedDatabase(std::shared_ptr<const disk::Database> database)
    : database_(std::move(database)) {
  const auto add = [&](const std::string& name) {
    tables_.emplace(name, query::StoredTable::Find(database_, name));
  };
  for (const auto& table : database_->partitioned_tables()) add(table->name());
  for (const disk::Database::RootTable& table : database_->splayed_tables()) add(table.name);
  problems_.assign(database_->problems().begin(), database_->problems().end());
  for (const disk::Database::RootFile& file : database_->flat_files()) {
    absl::StatusOr<Value> value = disk::ReadStoredValue(file.path, database_->domains());
    if (value.ok()) {
      flat_.emplace(file.name, *std::move(value));
    } else {
      problems_.emplace_back(Message(value.status()));
    }
  }
  partition_count_ = PartitionValues().count();
}

const std::vector<std::string>& LoadedDatabase::layout_problems() const {
  std::call_once(layout_checked_, [this] {
    for (const auto& table : database_->partitioned_tables()) FindLayoutProblems(*table);
    FindLostTables();
    for (const std::string& problem : layout_problems_) {
      LogWarn("problem in the database problem=\"{}\"", problem);
    }
  });
  return layout_problems_;
}

// Reports damaged `.d` files, columns without their file, and partitions that lack the table though
// an older one has it. kdb+'s `.Q.chk` fills the last in.
void LoadedDatabase::FindLayoutProblems(const disk::PartitionedTable& table) const {
  const std::span<const disk::Partition> partitions = database_->partitions();
  bool exists = false;
  for (size_t p = 0; p < partitions.size();) {
    const disk::Partition& first = partitions[p];
    // True if one of the value's directories has the table; with segments there may be several.
    bool has = false;
    for (; p < partitions.size() && partitions[p].value == first.value; ++p) {
      const absl::StatusOr<const disk::SplayedTable*> part = table.In(p);
      has = has || !part.ok() || *part != nullptr;
      if (!part.ok()) layout_problems_.emplace_back(Message(part.status()));
      if (!part.ok() || *part == nullptr) continue;
      FindMissingColumns(**part, layout_problems_);
    }
    if (exists && !has) {
      layout_problems_.push_back(fmt::format("{}/{}: no such table, which an older partition has",
                                             first.directory, table.name()));
    }
    exists = exists || has;
  }
}

// Reports tables that only older partitions have. Queries see only tables of the newest partition,
// here and in kdb+.
void LoadedDatabase::FindLostTables() const {
  // The newest partition that has the table, by the table's name.
  std::map<std::string, std::string> lost;
  for (const disk::Partition& partition : database_->partitions()) {
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(partition.directory);
    if (!entries.ok()) continue;  // Queries report that.
    for (const DirectoryEntry& entry : *entries) {
      const bool ignored = entry.name.starts_with('.') || entry.name.ends_with('$');
      if (entry.is_file || ignored || tables_.contains(entry.name)) continue;
      const absl::StatusOr<bool> has_columns =
          FileExists(fmt::format("{}/{}/.d", partition.directory, entry.name));
      if (!has_columns.value_or(false)) continue;  // Queries report an error.
      lost[entry.name] = partition.directory;
    }
  }
  for (const auto& [table, directory] : lost) {
    layout_problems_.push_back(
        fmt::format("{}/{}: no such table in the newest partition, so queries do not see that of "
                    "{} and older ones",
                    database_->partitions().back().directory, table, directory));
  }
}

std::shared_ptr<const query::StoredTable> LoadedDatabase::Find(std::string_view table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : found->second;
}

const Value* LoadedDatabase::FindFlat(std::string_view name) const {
  const auto found = flat_.find(name);
  return found == flat_.end() ? nullptr : &found->second;
}

std::vector<std::string> LoadedDatabase::FlatNames() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : flat_) names.push_back(name);
  return names;
}

std::vector<std::string> LoadedDatabase::TableNames() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  for (const auto& [name, value] : flat_) {
    if ((value.is_table() || value.is_keyed_table()) && !tables_.contains(name)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

Value LoadedDatabase::PartitionValues() const {
  const Type type = TypeOf(database_->partition_kind());
  ByteBuffer values;
  const std::span<const disk::Partition> partitions = database_->partitions();
  for (size_t i = 0; i < partitions.size(); ++i) {
    // Two segments may have the same value.
    if (i > 0 && partitions[i].value == partitions[i - 1].value) continue;
    if (WidthOf(type) == 8) {
      values.AppendLittle(partitions[i].value);
    } else {
      values.AppendLittle(static_cast<int32_t>(partitions[i].value));
    }
  }
  return Value::Vector(type, std::move(values));
}

absl::StatusOr<std::shared_ptr<const LoadedDatabase>> Hdb::Load() const {
  const MappingReserve reserve;
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const disk::Database> database, disk::Database::Open(root_));
  auto loaded = std::make_shared<const LoadedDatabase>(std::move(database));
  TS_RETURN_IF_ERROR(reserve.refused());  // The database may lack undamaged parts.
  return loaded;
}

absl::Status Hdb::Reload() {
  const std::lock_guard loading(loading_);
  const int64_t begin_ns = MonotonicNs();
  absl::StatusOr<std::shared_ptr<const LoadedDatabase>> result = Load();
  if (!result.ok()) {
    reloads_failed_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    load_error_ = fmt::format("not loaded: {}", Message(result.status()));
    return result.status();
  }
  std::shared_ptr<const LoadedDatabase> loaded = *std::move(result);
  const int64_t took_ns = MonotonicNs() - begin_ns;
  load_ns_.store(took_ns, std::memory_order_relaxed);
  LogInfo("database loaded root={} tables={} partitions={} symbols={} problems={} us={}", root_,
          loaded->TableNames().size(), loaded->partitions(),
          loaded->database().domains()->symbols().size(), loaded->problems().size(),
          took_ns / 1'000);
  for (const std::string& problem : loaded->problems()) {
    LogWarn("left out of the database problem=\"{}\"", problem);
  }
  {
    const std::lock_guard lock(mutex_);
    load_error_.clear();
    // The old one is freed after the lock is released: it may have much to unmap.
    current_.swap(loaded);
  }
  reloads_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

std::vector<std::string> Hdb::load_problems() const {
  std::vector<std::string> problems;
  const std::lock_guard lock(mutex_);
  if (!load_error_.empty()) problems.push_back(load_error_);
  if (current_ == nullptr) return problems;
  problems.insert(problems.end(), current_->problems().begin(), current_->problems().end());
  return problems;
}

std::vector<std::string> Hdb::problems() const {
  std::vector<std::string> problems = load_problems();
  const std::shared_ptr<const LoadedDatabase> loaded = current();
  if (loaded == nullptr) return problems;
  const std::vector<std::string>& layout = loaded->layout_problems();
  problems.insert(problems.end(), layout.begin(), layout.end());
  return problems;
}

std::shared_ptr<const LoadedDatabase> Hdb::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace tickstack::hdb
