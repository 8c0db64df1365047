#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack::wire {

struct TplogMessage {
  uint64_t seq = 0;                 // Number of the message in the log, from 0.
  uint64_t offset = 0;              // Where it begins in the file.
  std::span<const std::byte> body;  // One whole encoded value; PeekUpd and UpdDecoder read it.
};

struct TplogReaderOptions {
  bool use_index = true;  // Off: read by the grammar alone.
  bool verify = true;     // Compare each block with its checksum.
};

// Reads a log from its beginning, a message at a time, also while a writer appends to it.
//
// Part of the log that the index covers is read block by block, each compared with its checksum
// before its first message is handed out. The rest (all of it where there is no index) is read by
// the grammar: a message ends where its value ends.
//
// Memory: one block, or one message, whatever the log's size. Threads: one owner; any number of
// readers, in any process, beside one writer.
class TplogReader {
 public:
  // kNotFound; kInvalidArgument: not a log. A damaged index is kDataLoss here or in Next.
  static absl::StatusOr<std::unique_ptr<TplogReader>> Open(std::string path,
                                                           TplogReaderOptions options = {});
  ~TplogReader();

  // The next message, its body valid until the next call of anything here; nullopt at the end of
  // the log as it is now: a later call goes on if it has grown. kDataLoss, naming the offset:
  // inside what the index covers the bytes are not those that were written. Past it a message that
  // is not whole is the end of the log (see torn_bytes): its writer was killed, or is just writing.
  absl::StatusOr<std::optional<TplogMessage>> Next();

  // Moves to message `seq`, which Next then returns. The number of messages is a valid position,
  // the end; kNotFound beyond it. Cost: with an index, reading the index up to there and one block;
  // without one, reading all messages before.
  absl::Status Seek(uint64_t seq);

  // Whole messages from `from_seq` on, back to back: at most `bytes_max` bytes of those before
  // `end_seq`, but one at least if there is one; empty at the end. Calls that follow one another
  // do not seek. Errors as Seek and Next.
  absl::StatusOr<ByteBuffer> ReadRange(uint64_t from_seq, uint64_t end_seq, uint64_t bytes_max);

  uint64_t next_seq() const;
  uint64_t offset() const;      // Where the next message begins.
  uint64_t torn_bytes() const;  // What followed the last message when Next said nullopt.
  bool indexed() const;         // Whether there is an index.

 private:
  class State;
  explicit TplogReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tickstack::wire
