#pragma once

// Writes upd messages piece by piece, for the processes that send or log rows without building
// values. The format, which UpdDecoder (wire/upd.h) reads:
//
//   frame    8 bytes (wire/ipc.h); none in a log
//   head     00 00 n  f5 verb 00  f5 table 00             a list of n items, or, of numbered rows,
//            00 00 5  f5 .u.updn 00  f5 feed 00  f9 row  f5 table 00
//   x        00 00 columns  column column ...             a list of columns, or
//            62 00 63  0b 00 n name 00 ...  00 00 n  column ...           a table
//   column   type 00 rows  elements                       a vector or list, or
//            -type  element                               an atom, if x is one row
//   seq      f9 seq                                       for numbered subscriptions
//
// Counts are int32; rows and the log's numbers are int64. Attributes are 0.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/types.h"
#include "wire/ipc.h"

namespace tickstack::wire {

inline constexpr size_t kVectorHeadBytes = 6;             // Type, attribute, count.
inline constexpr size_t kAtomHeadBytes = 1;               // Type.
inline constexpr size_t kSeqBytes = 1 + sizeof(int64_t);  // A long.

// Writes the bytes before the elements of a vector or list, and returns the place after them. The
// caller has made room.
inline std::byte* PutVectorHead(std::byte* at, Type type, size_t count) {
  const auto number = static_cast<int32_t>(count);
  at[0] = static_cast<std::byte>(type);
  at[1] = std::byte{0};
  std::memcpy(at + 2, &number, sizeof number);
  return at + kVectorHeadBytes;
}
// Does the same for a column. A single row is an atom, as kdb+ feeds send it, which is 5 bytes
// shorter.
inline std::byte* PutColumnHead(std::byte* at, Type type, size_t rows) {
  if (rows != 1) return PutVectorHead(at, type, rows);
  at[0] = static_cast<std::byte>(-static_cast<int>(type));
  return at + kAtomHeadBytes;
}

// Appends the pieces of one message to a buffer, in the order of the methods; pieces that a message
// does not have are left out. Checks nothing: the caller's counts must be right.
class UpdEncoder {
 public:
  // `out` must outlive the encoder.
  explicit UpdEncoder(ByteBuffer& out) : out_(out), begin_(out.size()) {}

  // Leaves room for the frame, which EndFrame fills in.
  void BeginFrame() { out_.Extend(kHeaderBytes); }

  // Appends the head. `has_seq` must be true if Seq follows x.
  void Head(std::string_view verb, std::string_view table, bool has_seq = false);
  void NumberedHead(std::string_view feed, int64_t row, std::string_view table);

  // Append the beginning of x: a list of columns, or a table of this schema. The columns follow.
  void Columns(size_t columns) { VectorHead(Type::kList, columns); }
  void Table(const Schema& schema);
  // Append the bytes before a column's elements. The caller appends the elements.
  void Column(Type type, size_t rows) { VectorHead(type, rows); }
  void ColumnOrAtom(Type type, size_t rows) {
    PutColumnHead(out_.Extend(rows == 1 ? kAtomHeadBytes : kVectorHeadBytes), type, rows);
  }
  // Appends all of x, as a list of columns.
  void Batch(const BatchView& batch);

  void Seq(int64_t seq) { Long(seq); }

  // Fills in the frame. `bytes_elsewhere` are bytes of the message that are not in `out`.
  void EndFrame(MessageKind kind, size_t bytes_elsewhere = 0) {
    WriteHeader(out_.data() + begin_, kind, out_.size() - begin_ + bytes_elsewhere);
  }

 private:
  void VectorHead(Type type, size_t count) {
    PutVectorHead(out_.Extend(kVectorHeadBytes), type, count);
  }
  void Name(std::string_view name);
  void Symbol(std::string_view name);
  void Long(int64_t value);

  ByteBuffer& out_;
  const size_t begin_;
};

}  // namespace tickstack::wire
