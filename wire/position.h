#pragma once

// How far a subscriber has come, so that after a loss it takes each row once.
//
// The tickerplant's log is the order of all messages. Numbered upds say how many log messages the
// publication that they belong to contains, so a subscriber knows between two publications exactly
// where it stands:
//
//   log        0   1   2   3 | 4   5   6   7 | 8 ...
//   published  seq 4         | seq 8         |
//                              ^ lost here, after 300 rows of quote: seq() is 4, and of what the
//                                log holds from message 4 on the first 300 rows of quote are here
//
// Rows of one table are published in the order of the log, however they are cut into messages: that
// is all this relies on. So a table may be published ahead of the others, as soon as its rows are
// logged: such an upd has the complement of the last publication's number, `-1 - 4`. All of that
// publication is here then, and these rows are of messages behind it:
//
//   log        0   1   2   3 | 4   5   6   7 | 8 ...         message 5: 10 rows of trade_minute
//   published  seq 4    ~4 (5)               | seq 8
//                           ^ lost here: seq() is 4, and 10 rows of trade_minute are here
//
// Threads: one owner.

#include <cstdint>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/string_map.h"
#include "table/record.h"

namespace tickstack::wire {

class Position {
 public:
  // Every message of the log before this one has been taken.
  uint64_t seq() const { return seq_; }

  // No row that is here is of this message or of one after it; UINT64_MAX if that is not known.
  uint64_t FurthestSeq() const;

  // A published upd came with `rows` rows, numbered `seq`: negative if its table is ahead. False:
  // `seq` is not behind what came before it, so the tickerplant is not the one that we subscribed
  // to.
  bool OnPublished(std::string_view table, uint64_t rows, int64_t seq);

  // Message seq() of the log holds `rows` rows of `table`: how many of them, from its first on, are
  // here already. OnReplayed must follow.
  uint64_t RowsHere(std::string_view table, uint64_t rows);
  // Message seq() has been taken, whatever it was.
  void OnReplayed() { ++seq_; }
  // What could be replayed has been, and upds from log message `seq` on will be published. False:
  // rows came that the log does not hold.
  bool OnCaughtUp(uint64_t seq);

  void Reset() { *this = Position(); }
  // Rows of this table that came ahead are not here any more.
  void Forget(std::string_view table) {
    if (const auto at = rows_ahead_.find(table); at != rows_ahead_.end()) rows_ahead_.erase(at);
  }

  // As it is kept with durable tables. Load: false if the record is not one.
  void Save(ByteBuffer& record) const;
  bool Load(RecordReader& record);

 private:
  bool EnterPublication(uint64_t seq);
  bool EndPublication(uint64_t seq);
  bool HasRowsAhead() const;

  uint64_t seq_ = 0;
  uint64_t publication_seq_ = 0;    // Of the publication that is arriving.
  StringMap<uint64_t> rows_ahead_;  // By table: rows that are here of messages from seq_ on.
};

}  // namespace tickstack::wire
