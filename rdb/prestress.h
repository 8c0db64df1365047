#pragma once

// Rows that are in the tables before the first upd: an rdb under test should hold as much as in the
// middle of a day. They are not logged, so they are lost when the day ends or the tables start
// over, and a replay does not restore them.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::rdb {

class Rdb;

// The source of these rows. Threads: one owner.
class RowSource {
 public:
  // Rows of one table, valid until the next call.
  struct Rows {
    std::string_view table;
    int64_t rows = 0;
    std::span<const std::byte> x;  // As in an upd: a list of columns, or of atoms.
  };
  virtual ~RowSource() = default;
  virtual absl::StatusOr<std::optional<Rows>> Next() = 0;  // nullopt at the end.
  virtual int64_t rows() const = 0;                        // Sum over all tables.
};

// Creates the tables of `schemas` and fills them. Logs its progress once per second, as `prestress
// rows=1000000 of=60000000`. Ends early if `stop`, which is asked every few ms, returns true. If
// the rdb has tables already, because they outlived their process, they have these rows too, and
// nothing is added.
//
// Errors: those of the source; kInvalidArgument if rows do not fit their table; kResourceExhausted
// if memory is full. The calling thread must be the one that ingests.
absl::Status Prestress(RowSource& source, std::span<const Schema> schemas,
                       const std::function<bool()>& stop, Rdb& rdb);

}  // namespace tickstack::rdb
