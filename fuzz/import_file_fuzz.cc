// Reads a file of any bytes as an import does: in Arrow's format if it begins so, otherwise as CSV.
// It must not crash. Every value of an Arrow batch must be readable, and fields of CSV must not
// have more bytes than the file.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "fuzz/scratch_folder.h"
#include "interchange/arrow_reader.h"
#include "interchange/csv_reader.h"

namespace tickstack::interchange {
namespace {

uint64_t SumOf(const arrow::ColumnValues& values, arrow::Content content) {
  uint64_t sum = 0;
  for (uint64_t row = 0; row < values.rows(); ++row) {
    if (values.IsNull(row)) continue;
    switch (content) {
      case arrow::Content::kText:
        for (const char c : values.TextAt(row)) sum += static_cast<uint8_t>(c);
        break;
      case arrow::Content::kBoolean:
        sum += values.BooleanAt(row) ? 1 : 0;
        break;
      case arrow::Content::kFloat:
        sum += values.FloatAt(row) > 0 ? 1 : 0;
        break;
      case arrow::Content::kNulls:
        break;
      case arrow::Content::kInteger:
      case arrow::Content::kTimestamp:
      case arrow::Content::kDate:
      case arrow::Content::kTimeOfDay:
      case arrow::Content::kDuration:
        sum += static_cast<uint64_t>(values.IntegerAt(row).value_or(0));
        break;
    }
  }
  return sum;
}

void ReadArrow(const std::string& path) {
  auto reader = ArrowReader::Open(path);
  if (!reader.ok()) return;
  volatile uint64_t sum = 0;  // So that no read is left out.
  for (;;) {
    const absl::StatusOr<bool> more = reader->Next();
    if (!more.ok() || !*more) return;
    for (size_t column = 0; column < reader->columns().size(); ++column) {
      sum = sum + SumOf(reader->values(column), reader->columns()[column].content);
    }
  }
}

using Records = std::vector<std::vector<std::string>>;

// Returns all records; nullopt after an error.
std::optional<Records> ReadAll(const std::string& path) {
  auto reader = CsvReader::Open(path, ',').value();
  Records records;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) return std::nullopt;
    if (!*more) return records;
    records.emplace_back(reader.fields().begin(), reader.fields().end());
  }
}

// The same fields, quoted, are read again.
void ReadCsv(const ScratchFolder& folder, const std::string& path, size_t file_bytes) {
  const std::optional<Records> records = ReadAll(path);
  if (!records) return;
  std::string quoted;
  size_t bytes = 0;
  for (const std::vector<std::string>& record : *records) {
    for (size_t i = 0; i < record.size(); ++i) {
      quoted += i == 0 ? "\"" : ",\"";
      for (const char c : record[i]) quoted += c == '"' ? "\"\"" : std::string(1, c);
      quoted += '"';
      bytes += record[i].size();
    }
    quoted += '\n';
  }
  TS_CHECK(bytes <= file_bytes);
  TS_CHECK(ReadAll(folder.Write("a.csv", std::as_bytes(std::span(quoted)))) == records);
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  const std::string path = folder.Write("a", data);
  IsArrowFile(path) ? ReadArrow(path) : ReadCsv(folder, path, data.size());
}

}  // namespace
}  // namespace tickstack::interchange

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::interchange::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
