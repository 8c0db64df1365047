#pragma once

// Reads a tickerplant log message by message, verified against its index.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "tplog/tplog_place.h"

namespace tickstack::tplog {

struct TplogMessage {
  uint64_t seq = 0;                 // Number of the message in the log, from 0.
  uint64_t offset = 0;              // Where it begins in the file.
  std::span<const std::byte> body;  // One whole encoded value; see UpdDecoder in wire/upd.h.
};

struct TplogReaderOptions {
  bool use_index = true;  // False: find messages by the grammar alone.
  bool verify = true;     // True: compare each block with its checksum.
};

// Reads a log from its beginning, a message at a time, also while a writer appends to it.
//
// The part of the log that the index covers is read block by block, and each block is compared with
// its checksum before its first message is returned. The rest (or everything without an index) is
// read by the grammar: a message ends where its value ends.
//
// Memory: one block, or one message, whatever the log's size. Threads: one owner; any number of
// readers, in any process, beside one writer.
class TplogReader {
 public:
  // kNotFound; kInvalidArgument: not a log. A damaged index is kDataLoss here or in Next.
  static absl::StatusOr<std::unique_ptr<TplogReader>> Open(std::string path,
                                                           TplogReaderOptions options = {});
  // Returns a reader whose next message is the one at `place`. Reads nothing. Many readers may
  // share the files.
  static std::unique_ptr<TplogReader> OpenAt(const TplogFiles& files, TplogPlace place);
  ~TplogReader();

  // Returns the next message; its body is valid until the next call of any function here. nullopt
  // at the current end of the log: a later call continues if it has grown. kDataLoss, naming the
  // offset, if bytes that the index covers differ from those written. After the end of the index,
  // an incomplete message is the end of the log (see torn_bytes), because its writer was killed, or
  // is writing; it is kDataLoss if whole upds follow.
  absl::StatusOr<std::optional<TplogMessage>> Next();

  // Moves to message `seq`, which Next then returns. `seq` may be the number of messages, which is
  // the end of the log; kNotFound if it is larger. Cost: with an index, reading the index up to
  // there and one block; without one, reading all messages before it.
  absl::Status Seek(uint64_t seq);

  // Returns whole messages from `from_seq` on, back to back: those before `end_seq`, at most
  // `bytes_max` bytes, but at least one message if there is one; empty at the end. Consecutive
  // calls do not seek. Errors: those of Seek and Next.
  absl::StatusOr<ByteBuffer> ReadRange(uint64_t from_seq, uint64_t end_seq, uint64_t bytes_max);

  // Frees buffers of more than `bytes_max` bytes; the next call reads them again. For readers that
  // pause for long.
  void ReleaseMemory(size_t bytes_max = 0);

  uint64_t next_seq() const;
  uint64_t offset() const;  // Where the next message begins.
  // True if a tickerplant logged the message that Next returned, and its checksum matches.
  bool is_proven() const;
  uint64_t torn_bytes() const;  // Bytes after the last message when Next returned nullopt.
  bool indexed() const;         // True if there is an index.
  // Time at which the last message arrived at the tickerplant, ns since 2000; kNullLong if the
  // index does not say.
  int64_t time_ns() const;

 private:
  class State;
  explicit TplogReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tickstack::tplog
