#pragma once

// Which rows of an upstream's log a chained tickerplant takes, and their numbers.
//
// The rows of a table that are taken are numbered 0, 1, 2, ... in the order of the upstream's log.
// The numbers depend only on that log and on the symbols. So a log that is read again gives each
// row the number that it had before, and the tickerplant drops the rows that it has logged, as it
// does for a feed.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "base/string_map.h"
#include "table/schema.h"
#include "wire/upd.h"

namespace tickstack::tickerplant {

class UpstreamRows {
 public:
  // Takes rows of the tables in `schemas`, which must outlive this, with these symbols; no symbols:
  // all rows. `all_tables`: a message of another table is an error; otherwise it is passed over.
  // kInvalidArgument, with the table's name, if rows of a table cannot be selected by
  // symbol, because it has no symbol column `sym`.
  static absl::StatusOr<UpstreamRows> Create(std::span<const Schema> schemas,
                                             std::span<const std::string> symbols,
                                             bool all_tables = false);

  // The taken rows of one message.
  struct Taken {
    size_t table = 0;       // Index of the schema.
    int64_t first_row = 0;  // Number of the first row.
    size_t rows = 0;
    // Encoded columns. They are valid as long as `owner`, or as long as the message if it is null.
    std::span<const std::byte> x;
    std::shared_ptr<const void> owner;
  };
  // Returns the rows of the next log message; nullopt if none of them are taken.
  // kInvalidArgument if the message is of one of the tables, but its rows do not fit it, or if it
  // is of another table and all are to be taken.
  absl::StatusOr<std::optional<Taken>> Take(std::span<const std::byte> message);

  // Takes the last rows back, so that they get their numbers again.
  void TakeBack(const Taken& taken) { rows_[schemas_[taken.table].table] -= taken.rows; }

  // Rows taken so far, by table.
  const NameMap<uint64_t>& rows() const { return rows_; }
  void set_rows(NameMap<uint64_t> rows) { rows_ = std::move(rows); }

 private:
  explicit UpstreamRows(std::span<const Schema> schemas) : schemas_(schemas) {}
  std::vector<size_t> ChosenOf(const Schema& schema, const BatchView& batch) const;

  std::span<const Schema> schemas_;
  StringSet symbols_;  // Empty: all.
  bool all_tables_ = false;
  NameMap<uint64_t> rows_;
  wire::UpdDecoder decoder_;
};

// Returns the name under which the rows of an upstream's day are numbered. Rows that are selected
// by other symbols have other numbers, so they have another name.
std::string UpstreamName(int32_t date, std::span<const std::string> symbols);
// True if rows of an upstream are numbered under this name. No feed may have such a name.
bool IsUpstreamName(std::string_view feed);

}  // namespace tickstack::tickerplant
