#pragma once

// Holds the upds of one read until they are logged. They have been checked against the schemas.
// Each upd is kept twice: as segments of one log write, and as a batch to publish once it is
// logged.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack::tickerplant {

// A run of upds from one source. Movable. Keeps alive whatever its segments point into.
class StagedBlock {
 public:
  struct Upd {
    size_t table;
    BatchView batch;
    const std::shared_ptr<const void>& owner;
  };

  // `feed` is the feed that numbered the rows of all upds; empty if their rows have no numbers.
  // `logged_as` is its name in the index (feed_owner.h).
  void Reset(std::string_view feed, std::string_view logged_as, size_t tables);

  // Adds one upd. `x` is its third item as it is logged; x and the batch's bytes live as long as
  // `owner`. Small upds are copied together, large ones are referenced.
  void Add(size_t table, std::span<const std::byte> log_prefix, std::span<const std::byte> x,
           const BatchView& batch, const std::shared_ptr<const void>& owner);

  bool empty() const { return upds_.empty(); }
  const std::string& feed() const { return feed_; }
  const std::string& logged_as() const { return logged_as_; }
  std::span<const std::span<const std::byte>> segments() const { return segments_; }
  uint32_t messages() const { return static_cast<uint32_t>(upds_.size()); }
  uint64_t rows_of(size_t table) const { return rows_[table]; }
  size_t bytes() const { return bytes_; }
  Upd upd(size_t i) const;

 private:
  struct Entry {
    size_t table;
    size_t rows;
    size_t first_column;
    size_t columns;
    size_t owner;
  };
  void AppendSmall(std::span<const std::byte> bytes);

  std::string feed_, logged_as_;
  std::vector<std::span<const std::byte>> segments_;
  std::deque<ByteBuffer> scratch_;  // Reserved once each, so that segments into them stay valid.
  std::vector<Entry> upds_;
  std::vector<ColumnView> columns_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<uint64_t> rows_;  // By table.
  size_t bytes_ = 0;
};

// Encodes rows [first_row, batch.rows) of a batch as x in column form, for upds whose x cannot be
// logged unchanged. The result is a list of vectors, one for each entry of `order`: the index of a
// batch's column, or kStamp for a column that has `stamp` (raw bytes of `stamp_type`) in every row.
inline constexpr size_t kStamp = SIZE_MAX;
ByteBuffer EncodeColumns(const BatchView& batch, size_t first_row, std::span<const size_t> order,
                         Type stamp_type, std::span<const std::byte> stamp);

// Encodes a batch as x in column form, with vectors of the schema's types in place of lists, for
// feeds that send a column as a list of atoms or, for chars, of strings: data frames have no type
// for chars. An empty string is the null char, " ".
//
// kInvalidArgument, with the column and the item, if an item of such a list is something else.
// Requires as many columns as the schema has; other differences remain as they are.
// Cost: O(bytes).
absl::StatusOr<ByteBuffer> EncodeListsAsVectors(const Schema& schema, const BatchView& batch);

}  // namespace tickstack::tickerplant
