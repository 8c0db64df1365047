#pragma once

// Decodes an upd message into column spans over the receive buffer, without building values. This
// is the hot path of ingestion.
//
// An upd is the list (`upd; `table; x; ...). x has one of the forms that feeds and logs use:
//
//   kColumns  (v0; v1; ...)              one vector or nested list per column
//   kRow      (a0; a1; ...)              the first item is an atom: one row. Items that are not
//                                        atoms are cells of nested columns
//             1 2 3f                     q sends a row whose atoms share a type as one vector
//   kRows     ((a0; a1); (b0; b1); ...)  a list of rows: the first item is a list that begins with
//                                        an atom. Transposed into the decoder's own buffer
//   kTable    ([] c0: v0; c1: v1)        has column names, as does a keyed table, whose key columns
//                                        come first
//
// A vector is a row if it has as many elements as the table has columns, or if the caller does not
// know their number. Attributes are ignored: they describe the sender's whole column, not these
// rows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack::wire {

inline constexpr size_t kColumnsMax = size_t{1} << 15;  // Columns that an upd may have.
inline constexpr size_t kArgumentsMax = 8;              // Arguments of a call, as in q.

enum class UpdForm : uint8_t { kColumns, kRow, kRows, kTable };

// The rows of x. Every column has `batch.rows` rows. Valid until the decoder's next call, but not
// longer than the decoded bytes.
struct RowsView {
  UpdForm form = UpdForm::kColumns;
  std::span<const std::string_view> names;  // Column names of kTable; else empty.
  BatchView batch;
};

struct UpdView : RowsView {
  std::string_view verb;         // `upd`, `.u.upd`...: from a symbol, a string or a char.
  std::string_view table;        // From a symbol, a string or a char.
  std::span<const std::byte> x;  // The third item, encoded.
  std::optional<int64_t> seq;    // The fourth item if it is a long: see `.u.subx`.
};

// Decodes upds one after another. Reuses its buffers, so it allocates nothing after the first few
// messages. Threads: one owner.
class UpdDecoder {
 public:
  UpdDecoder();
  ~UpdDecoder();
  UpdDecoder(UpdDecoder&&) noexcept;
  UpdDecoder& operator=(UpdDecoder&&) noexcept;

  // Errors name columns as in this schema, which must outlive the decoder or the next call;
  // nullptr: by number only.
  void NameColumns(const Schema* schema);

  // Decodes a whole message body. `expected_columns` is the table's number of columns, or 0 where
  // it is not known: it decides only whether a vector is a row. A caller that knows the schemas
  // gets the table's name from PeekUpdTable first.
  //
  // kInvalidArgument: not a value, not an upd, or columns of different counts. Cost: O(columns),
  // plus one SIMD pass over symbol columns, plus a few ns per item of nested columns; rows in kRows
  // form are copied once.
  absl::Status Decode(std::span<const std::byte> body, UpdView* out, size_t expected_columns = 0);

  // Decodes x alone in the same way. `x` must be exactly one encoded value.
  absl::Status DecodeX(std::span<const std::byte> x, RowsView* out, size_t expected_columns = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the name that a list or symbol vector begins with (a symbol, string or char), for
// dispatch. Reads only the first few bytes; the rest of the body may be malformed. Valid as long as
// the body.
std::optional<std::string_view> PeekVerb(std::span<const std::byte> body);

// Returns the second item of a body, the table's name, in the same way.
std::optional<std::string_view> PeekUpdTable(std::span<const std::byte> body);

}  // namespace tickstack::wire
