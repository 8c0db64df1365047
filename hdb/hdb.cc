#include "hdb/hdb.h"

#include <algorithm>
#include <utility>

#include "base/byte_buffer.h"
#include "base/logging.h"
#include "base/mapping.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/stored_value.h"

namespace tickstack::hdb {

LoadedDatabase::LoadedDatabase(std::shared_ptr<const Database> database)
    : database_(std::move(database)) {
  const auto add = [&](const std::string& name) {
    tables_.emplace(name, query::StoredTable::Find(database_, name));
  };
  for (const auto& table : database_->partitioned_tables()) add(table->name());
  for (const Database::RootTable& table : database_->splayed_tables()) add(table.name);
  problems_.assign(database_->problems().begin(), database_->problems().end());
  for (const Database::RootFile& file : database_->flat_files()) {
    absl::StatusOr<Value> value = ReadStoredValue(file.path, database_->domains());
    if (value.ok()) {
      flat_.emplace(file.name, *std::move(value));
    } else {
      problems_.emplace_back(Message(value.status()));
    }
  }
  partition_count_ = PartitionValues().count();
}

std::shared_ptr<const query::StoredTable> LoadedDatabase::Find(std::string_view table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : found->second;
}

const Value* LoadedDatabase::FindFlat(std::string_view name) const {
  const auto found = flat_.find(name);
  return found == flat_.end() ? nullptr : &found->second;
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
  const std::span<const Partition> partitions = database_->partitions();
  for (size_t i = 0; i < partitions.size(); ++i) {
    if (i > 0 && partitions[i].value == partitions[i - 1].value) continue;  // Of two segments.
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
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const Database> database, Database::Open(root_));
  auto loaded = std::make_shared<const LoadedDatabase>(std::move(database));
  TS_RETURN_IF_ERROR(reserve.refused());  // It lacks what is not damaged.
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
    current_.swap(loaded);  // The old one goes after the lock does: it may have much to unmap.
  }
  reloads_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

std::vector<std::string> Hdb::problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> problems;
  if (!load_error_.empty()) problems.push_back(load_error_);
  if (current_ == nullptr) return problems;
  const std::vector<std::string>& left_out = current_->problems();
  problems.insert(problems.end(), left_out.begin(), left_out.end());
  return problems;
}

std::shared_ptr<const LoadedDatabase> Hdb::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace tickstack::hdb
