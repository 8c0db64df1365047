#include "interchange/arrow_column.h"

#include <limits>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace tickstack::interchange::arrow {

ColumnValues::ColumnValues(const StreamColumn& column, uint64_t rows, const Dictionary* dictionary)
    : content_(column.content),
      rows_(rows),
      width_(column.has_dictionary ? column.index_width : column.width),
      is_signed_(column.has_dictionary ? column.index_is_signed : column.is_signed),
      offset_width_(column.has_dictionary ? 0 : column.offset_width),
      dictionary_(dictionary),
      has_dictionary_(column.has_dictionary) {}

absl::StatusOr<ColumnValues> ColumnValues::Take(const StreamColumn& column, const StreamNode& node,
                                                const Dictionary* dictionary,
                                                BodyBuffers& buffers) {
  ColumnValues values(column, node.rows, dictionary);
  if (column.content == Content::kNulls) return values;
  TS_RETURN_IF_ERROR(values.TakeValid(node.nulls, buffers));
  TS_RETURN_IF_ERROR(values.TakeData(buffers));
  return values;
}

// As readers of Arrow do, it ignores the bits of a column that says that it has no nulls.
absl::Status ColumnValues::TakeValid(uint64_t nulls, BodyBuffers& buffers) {
  if (nulls == 0) return buffers.Take().status();
  TS_ASSIGN_OR_RETURN(valid_, buffers.TakeBits(rows_));
  uint64_t found = 0;
  for (uint64_t row = 0; row < rows_; ++row) found += BitAt(valid_, row) ? 0 : 1;
  if (found != nulls) return DataLoss("{} nulls, but its bits have {}", nulls, found);
  return absl::OkStatus();
}

absl::Status ColumnValues::TakeData(BodyBuffers& buffers) {
  if (content_ == Content::kBoolean) {
    TS_ASSIGN_OR_RETURN(data_, buffers.TakeBits(rows_));
    return absl::OkStatus();
  }
  if (offset_width_ == 0) {
    TS_ASSIGN_OR_RETURN(data_, buffers.TakeElements(rows_, width_));
    return has_dictionary_ ? CheckNumbers() : absl::OkStatus();
  }
  // Without rows, the first offset may be missing.
  TS_ASSIGN_OR_RETURN(offsets_, buffers.TakeElements(rows_ == 0 ? 0 : rows_ + 1, offset_width_));
  TS_ASSIGN_OR_RETURN(data_, buffers.Take());
  return CheckTexts();
}

absl::Status ColumnValues::CheckTexts() const {
  if (rows_ == 0) return absl::OkStatus();
  uint64_t begin = OffsetAt(0);
  for (uint64_t row = 0; row < rows_; ++row) {
    const uint64_t end = OffsetAt(row + 1);
    if (begin > end || end > data_.size()) {
      return DataLoss("the text of row {} is at bytes {} to {} of {}", row, begin, end,
                      data_.size());
    }
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status ColumnValues::CheckNumbers() const {
  const size_t texts = dictionary_ == nullptr ? 0 : dictionary_->size();
  for (uint64_t row = 0; row < rows_; ++row) {
    if (IsNull(row)) continue;
    const std::optional<int64_t> number = IntegerAt(row);
    if (!number || *number < 0 || static_cast<uint64_t>(*number) >= texts) {
      return DataLoss("row {} has text {} of a dictionary of {}", row, number.value_or(-1), texts);
    }
  }
  return absl::OkStatus();
}

// Returns offset `i` of the texts. A negative one becomes larger than any buffer.
uint64_t ColumnValues::OffsetAt(uint64_t i) const {
  return offset_width_ == 4 ? static_cast<uint64_t>(int64_t{ElementAt<int32_t>(offsets_, i)})
                            : ElementAt<uint64_t>(offsets_, i);
}

std::optional<int64_t> ColumnValues::IntegerAt(uint64_t row) const {
  if (is_signed_) {
    if (width_ == 1) return ElementAt<int8_t>(data_, row);
    if (width_ == 2) return ElementAt<int16_t>(data_, row);
    if (width_ == 4) return ElementAt<int32_t>(data_, row);
    return ElementAt<int64_t>(data_, row);
  }
  if (width_ == 1) return ElementAt<uint8_t>(data_, row);
  if (width_ == 2) return ElementAt<uint16_t>(data_, row);
  if (width_ == 4) return ElementAt<uint32_t>(data_, row);
  const auto value = ElementAt<uint64_t>(data_, row);
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(value);
}

double ColumnValues::FloatAt(uint64_t row) const {
  return width_ == 4 ? double{ElementAt<float>(data_, row)} : ElementAt<double>(data_, row);
}

std::string_view ColumnValues::TextAt(uint64_t row) const {
  if (has_dictionary_) {
    return dictionary_->At(static_cast<size_t>(IntegerAt(row).value_or(0)));
  }
  const uint64_t begin = OffsetAt(row);
  return AsText(data_.subspan(begin, OffsetAt(row + 1) - begin));
}

}  // namespace tickstack::interchange::arrow
