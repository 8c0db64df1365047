#pragma once

// Rows that are in the tables before the first one comes: an rdb that is measured should hold what
// one holds in the middle of a day. Nobody logged them, so they are there until the day ends or the
// tables begin anew, and a replay does not bring them back.

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

// Where they come from. Threads: one owner.
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

// Makes the tables of `schemas` and fills them; logs how far it is, once a second, as `prestress
// rows=1000000 of=60000000`. Stops early when `stop` says so, which is asked every some ms. An rdb
// that has tables, because they outlived their process, has these rows too: nothing is added.
//
// Errors: of the source; kInvalidArgument if rows do not fit their table; kResourceExhausted if
// memory is full. The calling thread is the one that ingests.
absl::Status Prestress(RowSource& source, std::span<const Schema> schemas,
                       const std::function<bool()>& stop, Rdb& rdb);

}  // namespace tickstack::rdb
