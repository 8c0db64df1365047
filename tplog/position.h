#pragma once

// A subscriber's position in the log. It makes each row count once, also after a lost connection.
//
// The tickerplant's log orders all messages. A numbered upd says how many log messages have been
// published after its publication, so between two publications a subscriber knows its position
// exactly:
//
//   log        0   1   2   3 | 4   5   6   7 | 8 ...
//   published  seq 4         | seq 8         |
//                              ^ connection lost after 300 rows of quote: seq() is 4, and the first
//                                300 rows of quote in the log from message 4 on have been taken
//
// This requires only that each table's rows are published in the order of the log. Messages may
// divide them differently. A table may therefore be published ahead of others, as soon as its rows
// are logged. Such an upd has the complement of the last publication's number, `-1 - 4`: that
// publication is complete, and these rows belong to later messages:
//
//   log        0   1   2   3 | 4   5   6   7 | 8 ...         message 5: 10 rows of trade_minute
//   published  seq 4    ~4 (5)               | seq 8
//                           ^ connection lost: seq() is 4, and 10 rows of trade_minute were taken
//
// Threads: one owner.

#include <cstdint>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "table/record.h"

namespace tickstack::tplog {

class Position {
 public:
  // Every message of the log before this one has been taken.
  uint64_t seq() const { return seq_; }

  // Returns a message number such that all taken rows belong to earlier messages; UINT64_MAX if
  // none is known.
  uint64_t FurthestSeq() const;

  // Records a published upd with `rows` rows and number `seq`, which is negative if its table is
  // ahead. False if `seq` is lower than earlier ones, which means that the tickerplant is another
  // one.
  bool OnPublished(std::string_view table, uint64_t rows, int64_t seq);

  // `rows` is the number of rows of `table` in log message seq(). Returns how many of them, from
  // the first on, have been taken already. Must be followed by OnReplayed.
  uint64_t RowsHere(std::string_view table, uint64_t rows);
  // Records that message seq() has been replayed.
  void OnReplayed() { ++seq_; }
  // Records that the replay is complete, and that upds from log message `seq` on will be published.
  // False if rows were taken that the log does not have.
  bool OnCaughtUp(uint64_t seq);

  void Reset() { *this = Position(); }
  // Forgets rows of a table that came ahead and have been discarded.
  void Forget(std::string_view table) {
    if (const auto at = rows_ahead_.find(table); at != rows_ahead_.end()) rows_ahead_.erase(at);
  }

  // Save and Load the form that is stored with durable tables. Load returns false for an invalid
  // record.
  void Save(ByteBuffer& record) const;
  bool Load(RecordReader& record);

 private:
  bool EnterPublication(uint64_t seq);
  bool EndPublication(uint64_t seq);
  bool HasRowsAhead() const;

  uint64_t seq_ = 0;
  uint64_t publication_seq_ = 0;  // Number of the publication that is arriving.
  NameMap<uint64_t> rows_ahead_;  // By table: taken rows of messages from seq_ on.
};

}  // namespace tickstack::tplog
