#include "table/storable.h"

#include <utility>

#include "base/status.h"
#include "table/codec.h"
#include "table/encoded.h"
#include "table/function_text.h"
#include "table/value.h"
#include "table/value_reader.h"

namespace tickstack {
namespace {

using StoredReader = ValueReader<const std::byte, ValueSource::kStored>;

constexpr size_t kReferenceBytes = 8;  // Size of a list's item on the disk.

// Measures a value as the readers of databases do.
class StorableCheck {
 public:
  explicit StorableCheck(std::span<const std::byte> value) : value_(value), reader_(value) {}

  std::optional<Unstorable> Run() {
    if (!Visit(1)) return Unstorable{std::move(whole_), /*is_whole=*/true};
    if (!function_) return std::nullopt;
    const std::span<const std::byte> function = value_.subspan(*function_);
    const size_t bytes = EncodedBytes(function).value_or(function.size());
    std::string text = EncodedFunctionText(function.first(bytes));
    return Unstorable{text == "::" ? text : text + ", a function", /*is_whole=*/false};
  }

 private:
  // Passes one value. Returns false if the whole cannot be stored.
  bool Visit(int depth) {
    if (depth > kDepthMax) return Refuse(fmt::format("lists nested deeper than {}", kDepthMax));
    const size_t begin = reader_.offset();
    StoredReader::Head head;
    if (reader_.TakeHead(&head) != ReadOutcome::kWhole) return Refuse("bytes that are no value");
    if (IsFunctionCode(head.code)) {
      if (!function_) function_ = begin;
      return Skip(head.inner_values);
    }
    bytes_ += sizeof(Value) + head.elements.size();
    if (head.code == 0) bytes_ += head.count * kReferenceBytes;
    if (bytes_ > kStorableBytesMax) {
      return Refuse(fmt::format("a value of {} bytes, which takes more than {} MiB when it is read",
                                value_.size(), kStorableBytesMax >> 20));
    }
    // A table's dictionary is no level of its own.
    if (head.code == static_cast<int8_t>(Type::kTable)) {
      if (reader_.TakeHead(&head) != ReadOutcome::kWhole || head.inner_values != 2) {
        return Refuse("bytes that are no table");
      }
    }
    for (uint64_t i = 0; i < head.inner_values; ++i) {
      if (!Visit(depth + 1)) return false;
    }
    return true;
  }

  // Passes the values in a function, which a stand-in replaces as a whole.
  bool Skip(uint64_t values) {
    StoredReader::Head head;
    for (; values > 0; --values) {
      if (reader_.TakeHead(&head) != ReadOutcome::kWhole) return Refuse("bytes that are no value");
      values += head.inner_values;
    }
    return true;
  }

  bool Refuse(std::string what) {
    whole_ = std::move(what);
    return false;
  }

  const std::span<const std::byte> value_;
  StoredReader reader_;
  uint64_t bytes_ = 0;
  std::optional<size_t> function_;  // Offset of the first one.
  std::string whole_;
};

}  // namespace

std::optional<Unstorable> FindUnstorable(std::span<const std::byte> value) {
  const int8_t code = value.empty() ? int8_t{0} : static_cast<int8_t>(value.front());
  const bool is_plain = code != 0 && IsVectorType(static_cast<Type>(code < 0 ? -code : code));
  if (is_plain && value.size() + sizeof(Value) <= kStorableBytesMax) [[likely]]
    return std::nullopt;
  return StorableCheck(value).Run();
}

std::string EncodedFunctionText(std::span<const std::byte> function) {
  const absl::StatusOr<Value> value = DecodeWithin(function, kStorableBytesMax);
  std::string text = value.ok() && (value->is_function() || value->is_null()) ? FunctionText(*value)
                                                                              : std::string();
  if (!text.empty()) return text;
  return fmt::format("a function of type {}", static_cast<int>(function.front()));
}

absl::Status CheckStorable(const Schema& schema, const BatchView& batch) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnView& column = batch.columns[i];
    if (schema.columns[i].type != Type::kList || column.type != Type::kList) continue;
    std::span<const std::byte> rest = column.data;
    for (size_t row = 0; row < column.rows; ++row) {
      const std::span<const std::byte> item = rest.first(EncodedBytes(rest).value_or(rest.size()));
      rest = rest.subspan(item.size());
      const std::optional<Unstorable> found = FindUnstorable(item);
      if (!found) [[likely]]
        continue;
      constexpr size_t kTextMax = 100;
      return InvalidArgument(
          "type: {}.{}: row {} has {}: expected atoms, vectors, lists, dictionaries or tables, "
          "since a database can store nothing else",
          schema.table, schema.columns[i].name, row,
          found->what.size() <= kTextMax ? found->what : found->what.substr(0, kTextMax) + "...");
    }
  }
  return absl::OkStatus();
}

}  // namespace tickstack
