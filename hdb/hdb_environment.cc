#include "hdb/hdb_environment.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mapping.h"
#include "base/status.h"
#include "disk/archived_bytes.h"
#include "disk/decompressed_image.h"
#include "disk/open_tables.h"

namespace tickstack::hdb {
namespace {

constexpr std::string_view kReload = ".hdb.reload";

bool IsNothing(std::span<const Value> args) {
  return args.empty() || (args.size() == 1 && args[0].is_null());
}

Value NamesOf(const std::vector<std::string>& names) {
  SymbolVector symbols;
  for (const std::string& name : names) symbols.push_back(name);
  return Value::Symbols(std::move(symbols));
}

Value PartitionedTables(const LoadedDatabase& loaded) {
  std::vector<std::string> names;
  for (const std::string& name : loaded.TableNames()) {
    const std::shared_ptr<const query::StoredTable> table = loaded.Find(name);
    if (table != nullptr && table->is_partitioned()) names.push_back(name);
  }
  return NamesOf(names);
}

// What queries find in a loaded database. nullptr: none is loaded.

std::shared_ptr<const query::StoredTable> FindStoredIn(const LoadedDatabase* loaded,
                                                       std::string_view name) {
  return loaded == nullptr ? nullptr : loaded->Find(name);
}

std::vector<std::string> TableNamesIn(const LoadedDatabase* loaded) {
  return loaded == nullptr ? std::vector<std::string>() : loaded->TableNames();
}

std::optional<Value> FindValueIn(const LoadedDatabase* loaded, std::string_view name) {
  if (loaded == nullptr) return std::nullopt;
  if (const Value* const flat = loaded->FindFlat(name)) return *flat;
  if (loaded->partitions() == 0) return std::nullopt;
  const std::string_view column = loaded->database().partition_column();
  if (name == column || name == ".Q.pv" || name == ".Q.PV") return loaded->PartitionValues();
  if (name == ".Q.pf") return Value::Symbol(column);
  if (name == ".Q.pt") return PartitionedTables(*loaded);
  // There is no stored count to return: .Q.cn counts the rows in the files each time.
  if (name == ".Q.pn") {
    Value tables = PartitionedTables(*loaded);
    std::vector<Value> none(tables.count(), Value::List({}));
    return Value::Dict(std::move(tables), Value::List(std::move(none)));
  }
  return std::nullopt;
}

std::vector<std::string> ValueNamesIn(const LoadedDatabase* loaded) {
  std::vector<std::string> names;
  if (loaded == nullptr) return names;
  names = loaded->FlatNames();
  if (loaded->partitions() == 0) return names;
  names.emplace_back(loaded->database().partition_column());
  for (const std::string_view name : {".Q.pf", ".Q.pv", ".Q.PV", ".Q.pt", ".Q.pn"}) {
    names.emplace_back(name);
  }
  return names;
}

}  // namespace

// The environment of one request. Another client's reload changes neither its tables nor its
// values: otherwise a request that names two tables, or a table and `date`, could combine two
// databases.
class HdbEnvironment::OfRequest final : public query::Environment {
 public:
  explicit OfRequest(HdbEnvironment& process)
      : process_(process), loaded_(process.hdb_->current()) {}

  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::shared_ptr<const query::StoredTable> FindStored(std::string_view name) override {
    return FindStoredIn(loaded_.get(), name);
  }
  std::vector<std::string> TableNames() override { return TableNamesIn(loaded_.get()); }
  int64_t NowNs() override { return process_.NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override {
    return FindValueIn(loaded_.get(), name);
  }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    std::optional<absl::StatusOr<Value>> answer = process_.Call(name, args);
    if (name == kReload || process_.IsReload(name, args)) loaded_ = process_.hdb_->current();
    return answer;
  }
  bool Changes(std::string_view name, std::span<const Value> args) override {
    return process_.Changes(name, args);
  }
  std::vector<std::string> FunctionNames() override { return process_.FunctionNames(); }
  std::vector<std::string> ValueNames() override { return ValueNamesIn(loaded_.get()); }
  query::ProcessFacts Facts() override { return process_.Facts(); }

 private:
  HdbEnvironment& process_;
  std::shared_ptr<const LoadedDatabase> loaded_;
};

std::unique_ptr<query::Environment> HdbEnvironment::ForRequest() {
  return std::make_unique<OfRequest>(*this);
}

std::shared_ptr<const query::StoredTable> HdbEnvironment::FindStored(std::string_view name) {
  return FindStoredIn(hdb_->current().get(), name);
}

std::vector<std::string> HdbEnvironment::TableNames() {
  return TableNamesIn(hdb_->current().get());
}

std::optional<Value> HdbEnvironment::FindValue(std::string_view name) {
  return FindValueIn(hdb_->current().get(), name);
}

std::vector<std::string> HdbEnvironment::FunctionNames() {
  return {std::string(kReload), ".hdb.stats", ".hdb.problems"};
}

std::vector<std::string> HdbEnvironment::ValueNames() {
  return ValueNamesIn(hdb_->current().get());
}

absl::StatusOr<Value> HdbEnvironment::Reload() {
  TS_RETURN_IF_ERROR(hdb_->Reload());
  return Value();
}

Value HdbEnvironment::StatsWith(size_t problems) const {
  SymbolVector names;
  ByteBuffer values;
  const auto add = [&](std::string_view name, uint64_t value) {
    names.push_back(name);
    values.AppendLittle(static_cast<int64_t>(value));
  };
  if (const std::shared_ptr<const LoadedDatabase> loaded = hdb_->current()) {
    const disk::Database& database = loaded->database();
    add("tables", loaded->TableNames().size());
    add("partitions", loaded->partitions());
    add("segments", database.segments().size());
    add("symbols", static_cast<uint64_t>(database.domains()->symbols().size()));
  }
  add("problems", problems);
  add("reloads", hdb_->reloads());
  add("reloads_failed", hdb_->reloads_failed());
  add("load_ns", static_cast<uint64_t>(hdb_->load_ns()));
  add("decompressed_bytes", disk::DecompressedBytes());
  add("cache_max_bytes", disk::DecompressedCache::Instance().max_bytes());
  add("cache_evictions", disk::DecompressedCache::Instance().evictions());
  const disk::ArchiveCounts archive = disk::ArchiveCache::Instance().Counts();
  add("local_bytes", archive.local_bytes);
  add("archive_cache_bytes", archive.cache_bytes);
  add("archive_store_bytes", archive.store_bytes);
  add("archive_store_requests", archive.store_requests);
  add("archive_store_errors", archive.store_errors);
  add("archive_held_bytes", archive.held_bytes);
  add("archive_held_bytes_max", archive.held_bytes_max);
  add("archive_evicted_bytes", archive.evicted_bytes);
  add("mappings", Mapping::Live());
  add("mappings_max", Mapping::Max());
  add("columns_let_go", disk::OpenTables::Instance().columns_let_go());
  for (const auto& [name, value] : serve::NamedCounts(queries_)) add(name, value);
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::move(values)));
}

// True for one of kdb+'s system commands, `\l` in the form that kdb+'s rdb sends.
bool HdbEnvironment::IsReload(std::string_view name, std::span<const Value> args) const {
  return name == "system" && args.size() == 1 && args[0].type() == Type::kChar &&
         (args[0].text() == "l ." || args[0].text() == "l " + hdb_->root());
}

bool HdbEnvironment::Changes(std::string_view name, std::span<const Value> args) {
  if (name == ".hdb.stats" || name == ".hdb.problems") return false;
  const std::vector<std::string> names = FunctionNames();
  return IsReload(name, args) || std::ranges::find(names, name) != names.end();
}

std::optional<absl::StatusOr<Value>> HdbEnvironment::Call(std::string_view name,
                                                          std::span<const Value> args) {
  if (IsReload(name, args)) return Reload();
  if (name == "system") return std::nullopt;
  const bool ours = name == kReload || name == ".hdb.stats" || name == ".hdb.problems";
  if (!ours) return std::nullopt;
  if (!IsNothing(args)) return InvalidArgument("type: {} does not take that", name);
  if (name == kReload) return Reload();
  if (name == ".hdb.stats") return StatsWith(hdb_->problems().size());
  std::vector<Value> problems;
  for (const std::string& problem : hdb_->problems()) problems.push_back(Value::String(problem));
  return Value::List(std::move(problems));
}

}  // namespace tickstack::hdb
