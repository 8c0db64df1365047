#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "cli/import_field.h"
#include "cli/record_source.h"
#include "interchange/arrow_reader.h"
#include "table/types.h"

namespace tickstack::cli {
namespace {

using interchange::arrow::Content;
using interchange::arrow::StreamColumn;

constexpr int64_t kMsNs = 1'000'000;
constexpr int64_t kFloatWholeMax = int64_t{1} << 53;  // Below it, floats hold each whole number.

class ArrowSource final : public RecordSource {
 public:
  ArrowSource(interchange::ArrowReader reader, std::string path, const ImportMapping& mapping)
      : reader_(std::move(reader)), path_(std::move(path)), mapping_(mapping) {}

  absl::StatusOr<size_t> PlaceOf(const std::string& from) const override;
  absl::StatusOr<bool> Next() override;
  absl::Status Append(const MappedColumn& column, size_t place, ByteBuffer& out) const override;
  absl::Status ErrorAt(std::string_view what) const override {
    return InvalidArgument("{}: row {}: {}", path_, reader_.first_row() + row_, what);
  }

 private:
  absl::Status AppendWhole(const MappedColumn& column, int64_t value, ByteBuffer& out) const;
  absl::Status AppendFloat(const MappedColumn& column, double value, ByteBuffer& out) const;
  absl::Status AppendTime(const MappedColumn& column, const StreamColumn& from, int64_t value,
                          ByteBuffer& out) const;

  interchange::ArrowReader reader_;
  const std::string path_;
  const ImportMapping& mapping_;
  bool has_batch_ = false;
  uint64_t row_ = 0;  // In the batch.
};

absl::StatusOr<size_t> ArrowSource::PlaceOf(const std::string& from) const {
  std::optional<size_t> place;
  for (size_t i = 0; i < reader_.columns().size(); ++i) {
    if (reader_.columns()[i].name != from) continue;
    if (place.has_value()) return InvalidArgument("the schema has several columns {}", from);
    place = i;
  }
  if (!place.has_value()) return InvalidArgument("the schema has no column {}", from);
  return *place;
}

absl::StatusOr<bool> ArrowSource::Next() {
  if (has_batch_) ++row_;
  while (!has_batch_ || row_ >= reader_.rows()) {
    TS_ASSIGN_OR_RETURN(has_batch_, reader_.Next());
    row_ = 0;
    if (!has_batch_) return false;
  }
  return true;
}

absl::Status Mismatch(const MappedColumn& column, std::string_view found) {
  return InvalidArgument("expected a value of type {}, found {}", NameOf(column.spec.type), found);
}

template <typename T>
absl::Status AppendRanged(const MappedColumn& column, int64_t value, ByteBuffer& out) {
  // The smallest number is the type's null.
  if (value <= std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
    return Mismatch(column, fmt::format("{}", value));
  }
  out.AppendLittle(static_cast<T>(value));
  return absl::OkStatus();
}

absl::Status ArrowSource::AppendWhole(const MappedColumn& column, int64_t value,
                                      ByteBuffer& out) const {
  const Type type = column.spec.type;
  if (type == Type::kLong) return AppendRanged<int64_t>(column, value, out);
  if (type == Type::kInt) return AppendRanged<int32_t>(column, value, out);
  if (type == Type::kShort) return AppendRanged<int16_t>(column, value, out);
  if (type == Type::kBoolean && (value == 0 || value == 1)) {
    return out.AppendLittle(static_cast<uint8_t>(value)), absl::OkStatus();
  }
  if (type == Type::kFloat && value >= -kFloatWholeMax && value <= kFloatWholeMax) {
    return out.AppendLittle(static_cast<double>(value)), absl::OkStatus();
  }
  if (type == Type::kTimestamp && column.unit_ns != 0) {
    return AppendField(column, fmt::format("{}", value), false, out);
  }
  return Mismatch(column, fmt::format("the number {}", value));
}

absl::Status ArrowSource::AppendFloat(const MappedColumn& column, double value,
                                      ByteBuffer& out) const {
  const Type type = column.spec.type;
  if (type != Type::kFloat && type != Type::kReal) {
    return Mismatch(column, fmt::format("the float {}", value));
  }
  if (std::isnan(value)) return AppendField(column, "", true, out);
  if (type == Type::kFloat) return out.AppendLittle(value), absl::OkStatus();
  const auto real = static_cast<float>(value);
  if (double{real} != value) return Mismatch(column, fmt::format("the float {}", value));
  out.AppendLittle(real);
  return absl::OkStatus();
}

// Converts a count of units of `from_ns` to units of `to_ns`, less `origin_ns`. nullopt if that is
// not whole, or if it is a null or infinity of T.
template <typename T>
std::optional<T> Rescaled(int64_t value, int64_t from_ns, int64_t origin_ns, int64_t to_ns) {
  const __int128 ns = __int128{value} * from_ns - origin_ns;
  if (ns % to_ns != 0) return std::nullopt;
  const __int128 units = ns / to_ns;
  constexpr __int128 kMax = std::numeric_limits<T>::max();
  if (units <= -kMax || units >= kMax) return std::nullopt;
  return static_cast<T>(units);
}

absl::Status ArrowSource::AppendTime(const MappedColumn& column, const StreamColumn& from,
                                     int64_t value, ByteBuffer& out) const {
  const auto append = [&](auto found) -> absl::Status {
    if (found.has_value()) return out.AppendLittle(*found), absl::OkStatus();
    return Mismatch(column, fmt::format("{} units of {} ns", value, from.unit_ns));
  };
  const Type type = column.spec.type;
  const bool is_day = from.content == Content::kDate || from.content == Content::kTimestamp;
  if (is_day && type == Type::kTimestamp) {
    return append(Rescaled<int64_t>(value, from.unit_ns, kUnixNsOfKdbEpoch, 1));
  }
  if (from.content == Content::kDate && type == Type::kDate) {
    return append(Rescaled<int32_t>(value, from.unit_ns, kUnixNsOfKdbEpoch, kNsPerDay));
  }
  if (is_day) return Mismatch(column, "a timestamp or date");
  if (type == Type::kTimespan) return append(Rescaled<int64_t>(value, from.unit_ns, 0, 1));
  if (type == Type::kTime) return append(Rescaled<int32_t>(value, from.unit_ns, 0, kMsNs));
  if (type == Type::kSecond) {
    return append(Rescaled<int32_t>(value, from.unit_ns, 0, kNsPerSecond));
  }
  if (type == Type::kMinute) {
    return append(Rescaled<int32_t>(value, from.unit_ns, 0, 60 * kNsPerSecond));
  }
  return Mismatch(column, "a time of day or duration");
}

absl::Status ArrowSource::Append(const MappedColumn& column, size_t place, ByteBuffer& out) const {
  const StreamColumn& from = reader_.columns()[place];
  const interchange::arrow::ColumnValues& values = reader_.values(place);
  if (values.IsNull(row_)) return AppendField(column, "", true, out);
  switch (from.content) {
    case Content::kNulls:
      return AppendField(column, "", true, out);
    case Content::kText: {
      const std::string_view text = values.TextAt(row_);
      return AppendField(column, text, IsNullField(mapping_, text), out);
    }
    case Content::kBoolean:
      return AppendWhole(column, values.BooleanAt(row_) ? 1 : 0, out);
    case Content::kFloat:
      return AppendFloat(column, values.FloatAt(row_), out);
    case Content::kInteger:
    case Content::kTimestamp:
    case Content::kDate:
    case Content::kTimeOfDay:
    case Content::kDuration:
      break;
  }
  const std::optional<int64_t> value = values.IntegerAt(row_);
  if (!value.has_value()) return Mismatch(column, "a number of more than 63 bits");
  return from.content == Content::kInteger ? AppendWhole(column, *value, out)
                                           : AppendTime(column, from, *value, out);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSource>> OpenArrow(const std::string& path,
                                                        const ImportMapping& mapping) {
  TS_ASSIGN_OR_RETURN(interchange::ArrowReader reader, interchange::ArrowReader::Open(path));
  return std::make_unique<ArrowSource>(std::move(reader), path, mapping);
}

}  // namespace tickstack::cli
