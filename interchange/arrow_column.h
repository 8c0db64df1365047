#pragma once

// The values of one column in a batch of Arrow's format.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "interchange/arrow_body.h"
#include "interchange/arrow_schema.h"

namespace tickstack::interchange::arrow {

// The texts that columns refer to by number. Memory: the texts, and 8 bytes for each.
class Dictionary {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view At(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  void Add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// Valid as long as the body that the buffers are in, and the dictionary. Threads: immutable.
class ColumnValues {
 public:
  // Takes the buffers of a column, and checks them, so that each row can be read afterwards.
  // `dictionary` is nullptr if the column has none, or if the stream had none for it so far.
  // kDataLoss, without the column, if the buffers do not have what the rows need.
  static absl::StatusOr<ColumnValues> Take(const StreamColumn& column, const StreamNode& node,
                                           const Dictionary* dictionary, BodyBuffers& buffers);

  uint64_t rows() const { return rows_; }
  bool IsNull(uint64_t row) const {
    return content_ == Content::kNulls || (!valid_.empty() && !BitAt(valid_, row));
  }

  // The value of a row below rows() that is not null. The column must have such content.
  bool BooleanAt(uint64_t row) const { return BitAt(data_, row); }
  // For integers and times. nullopt for an unsigned number of 64 bits that is too large.
  std::optional<int64_t> IntegerAt(uint64_t row) const;
  double FloatAt(uint64_t row) const;
  std::string_view TextAt(uint64_t row) const;

 private:
  ColumnValues(const StreamColumn& column, uint64_t rows, const Dictionary* dictionary);
  absl::Status TakeValid(uint64_t nulls, BodyBuffers& buffers);
  absl::Status TakeData(BodyBuffers& buffers);
  absl::Status CheckTexts() const;
  absl::Status CheckNumbers() const;
  uint64_t OffsetAt(uint64_t i) const;

  Content content_;
  uint64_t rows_;
  size_t width_;  // Bytes of an element, or of its number in the dictionary.
  bool is_signed_;
  size_t offset_width_;  // 0 for all but texts without a dictionary.
  const Dictionary* dictionary_;
  bool has_dictionary_;
  std::span<const std::byte> valid_;  // Bits; empty if no row is null.
  std::span<const std::byte> offsets_;
  std::span<const std::byte> data_;
};

}  // namespace tickstack::interchange::arrow
