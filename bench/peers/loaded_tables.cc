#include "bench/peers/loaded_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "disk/partition_writer.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack::bench {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{64} << 30;
constexpr size_t kBatchRows = 100'000;

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kFileBytesMax));
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

// A column's elements in its file, and their form in a batch.
class ColumnFile {
 public:
  static absl::StatusOr<ColumnFile> Open(const std::string& path, Type type) {
    ColumnFile file;
    file.type_ = type;
    file.width_ = type == Type::kSymbol ? sizeof(int32_t) : WidthOf(type);
    if (file.width_ == 0) return InvalidArgument("{}: expected a column of fixed width", path);
    TS_ASSIGN_OR_RETURN(file.bytes_, ReadWholeFile(path, kFileBytesMax));
    if (type == Type::kSymbol) {
      TS_ASSIGN_OR_RETURN(file.names_, ReadLines(path + ".names"));
    }
    return file;
  }

  size_t rows() const { return bytes_.size() / width_; }

  // Returns rows, valid until the next call. kInvalidArgument for a symbol number without a name.
  absl::StatusOr<ColumnView> Rows(size_t begin_row, size_t rows) {
    const std::span<const std::byte> raw =
        std::span(bytes_.data(), bytes_.size()).subspan(begin_row * width_, rows * width_);
    if (type_ != Type::kSymbol) return ColumnView{type_, Attribute::kNone, rows, raw};
    text_.clear();
    for (size_t row = 0; row < rows; ++row) {
      int32_t number;
      std::memcpy(&number, raw.data() + row * width_, sizeof(number));
      if (number < 0 || static_cast<size_t>(number) >= names_.size()) {
        return InvalidArgument("symbol number {}: expected one below {}", number, names_.size());
      }
      const std::string& name = names_[static_cast<size_t>(number)];
      text_.Append(std::string_view(name.c_str(), name.size() + 1));
    }
    return ColumnView{type_, Attribute::kNone, rows, text_};
  }

 private:
  Type type_ = Type::kList;
  size_t width_ = 0;
  ByteBuffer bytes_;
  std::vector<std::string> names_;
  ByteBuffer text_;  // Names of the rows that were requested last.
};

}  // namespace

LoadedTables::LoadedTables() : tier_(mem::MakeDramTier("dram")) {}

absl::StatusOr<std::unique_ptr<LoadedTables>> LoadedTables::Load(const std::string& directory) {
  std::unique_ptr<LoadedTables> tables(new LoadedTables);
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(directory + "/tables"));
  for (const std::string& line : lines) TS_RETURN_IF_ERROR(tables->LoadTable(directory, line));
  return tables;
}

absl::Status LoadedTables::LoadTable(const std::string& directory, std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view name = line.substr(0, space);
  TS_ASSIGN_OR_RETURN(const Schema schema, ParseSchema(name, line.substr(space)));
  std::vector<ColumnFile> files;
  for (const ColumnSpec& column : schema.columns) {
    TS_ASSIGN_OR_RETURN(
        ColumnFile file,
        ColumnFile::Open(fmt::format("{}/{}.{}", directory, name, column.name), column.type));
    files.push_back(std::move(file));
  }
  const size_t rows = files.front().rows();
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].rows() == rows) continue;
    return InvalidArgument("{}.{}: {} rows, expected {}", name, schema.columns[i].name,
                           files[i].rows(), rows);
  }
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table,
                      Table::Create(schema, &symbols_, TablePlacement{tier_.get(), {}, nullptr}));
  std::vector<ColumnView> views(files.size());
  for (size_t begin = 0; begin < rows; begin += kBatchRows) {
    const size_t count = std::min(kBatchRows, rows - begin);
    for (size_t i = 0; i < files.size(); ++i) {
      TS_ASSIGN_OR_RETURN(views[i], files[i].Rows(begin, count));
    }
    TS_RETURN_IF_ERROR(table->Append(BatchView{views, count}));
  }
  tables_.insert_or_assign(std::string(name), table);
  return absl::OkStatus();
}

absl::Status LoadedTables::WriteTo(const std::string& database, int32_t date) const {
  disk::PartitionWriterOptions options;
  options.database = database;
  std::vector<Snapshot> snapshots;
  for (const auto& [name, table] : tables_) snapshots.push_back(table->TakeSnapshot());
  return disk::WritePartition(options, date, snapshots).status();
}

std::optional<Snapshot> LoadedTables::FindTable(std::string_view name) {
  const auto found = tables_.find(name);
  if (found == tables_.end()) return std::nullopt;
  return found->second->TakeSnapshot();
}

std::vector<std::string> LoadedTables::TableNames() {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  return names;
}

std::optional<Value> LoadedTables::FindValue(std::string_view name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tickstack::bench
