#pragma once

// A file of Databento's DBN, plain or compressed: a header (dbn_metadata.h) and records
// (dbn_decoder.h).

#include <memory>
#include <span>
#include <string>

#include "feed/market/byte_stream.h"
#include "feed/market/dbn/dbn_decoder.h"
#include "feed/market/event_reader.h"

namespace tickstack::feed::market {

// Threads: one owner.
class DbnFile final : public EventReader {
 public:
  // Reads the header. Errors of ByteStream::Open and ReadDbnMetadata.
  static absl::StatusOr<std::unique_ptr<DbnFile>> Open(const std::string& path);

  // kDataLoss, with the file and the byte, if it is cut off within a record, or a record has
  // length 0.
  absl::StatusOr<bool> Advance() override;
  int64_t time_ns() const override { return DbnDecoder::TimeNs(record_); }
  absl::Status Decode(EventSink& sink) override;
  absl::Status Rewind() override;
  const MessageCounts& counts() const override { return counts_; }
  std::string TypeName(uint8_t type) const override;

 private:
  explicit DbnFile(std::string path) : path_(std::move(path)) {}
  // Makes at least `bytes` bytes after the last record available, fewer only at the end.
  absl::Status Fill(size_t bytes);
  uint64_t offset() const { return bytes_->offset() + used_; }  // Where the record begins.

  const std::string path_;
  std::unique_ptr<ByteStream> bytes_;
  std::unique_ptr<DbnDecoder> decoder_;
  std::span<const std::byte> ahead_;   // Bytes that bytes_ returned and did not consume.
  size_t used_ = 0;                    // Bytes of them before the record.
  std::span<const std::byte> record_;  // The first one after them, once it was read.
  int64_t number_ = 0;                 // The number of the record, from 1.
  MessageCounts counts_;
};

}  // namespace tickstack::feed::market
