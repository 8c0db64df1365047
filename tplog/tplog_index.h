#pragma once

// Encodes and decodes the sidecar index's records. See tplog_format.h and docs/formats.md.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/name_map.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tplog {

struct IndexRows {
  uint32_t table;  // The table's number.
  uint32_t rows;

  friend bool operator==(const IndexRows&, const IndexRows&) = default;
};

// A run of messages in the log.
struct IndexBlock {
  uint64_t offset = 0;
  uint64_t first_seq = 0;
  int64_t time_ns = 0;  // kNullLong if not known.
  uint32_t messages = 0;
  uint32_t crc = 0;
  uint32_t bytes = 0;
  uint32_t source = kSourceNone;
  std::vector<IndexRows> rows;

  uint64_t end_offset() const { return offset + bytes; }
  uint64_t end_seq() const { return first_seq + messages; }
  friend bool operator==(const IndexBlock&, const IndexBlock&) = default;
};

struct IndexProgress {
  uint32_t feed = 0;
  uint32_t table = 0;
  uint64_t rows = 0;
};

// The names of one kind (tables or feeds), and their numbers.
class IndexNames {
 public:
  explicit IndexNames(uint32_t first_number) : first_number_(first_number) {}
  uint32_t next_number() const { return first_number_ + static_cast<uint32_t>(names_.size()); }
  bool Has(uint32_t number) const { return number >= first_number_ && number < next_number(); }
  const std::string& NameOf(uint32_t number) const { return names_[number - first_number_]; }
  std::optional<uint32_t> Find(std::string_view name) const;
  void Add(std::string_view name);
  // Removes the names from `number` on.
  void DropFrom(uint32_t number);

 private:
  uint32_t first_number_;
  std::vector<std::string> names_;
  NameMap<uint32_t> numbers_;
};

struct IndexDictionary {
  IndexNames tables{0};
  IndexNames feeds{kSourceNone + 1};
};

// Append the encoded header or record to `out`. `kind` of a block is kBlock or kCutBlock.
void AppendIndexHeader(ByteBuffer& out);
void AppendNameRecord(NameKind kind, uint32_t number, std::string_view name, ByteBuffer& out);
void AppendBlockRecord(RecordKind kind, const IndexBlock& block, ByteBuffer& out);
void AppendProgressRecord(const IndexProgress& progress, ByteBuffer& out);

// Returns the block of the record at the start of `bytes`, if it is whole and matches its checksum.
// For a search after damage: does not check whether its numbers have names, or whether it follows
// the previous block.
std::optional<IndexBlock> PeekIndexBlock(std::span<const std::byte> bytes);

// `tail` is the end of an index, from a record on that seems to be torn. Returns the tail as it was
// before one bit of that record was flipped; nullopt if no single bit explains it, so that the
// record is really torn. Cost: a checksum of the record for each of its bits; in records of more
// than 4 KiB, only the bits of the head are tried.
std::optional<ByteBuffer> WithoutFlippedBit(std::span<const std::byte> tail);

// Reads an index from its beginning, record by record, also while a writer appends to it. Whatever
// it returns is consistent: records are whole and match their checksums, each block begins where
// the previous one ends, and every number has a name.
//
// The writer may take back a record, together with the names before it, as long as its messages are
// not whole in the log (see TplogWriter::Append). So a reader of a live log calls Unread for a
// block that is not in the log yet, and Next again later.
//
// Memory: 64 KiB. Threads: one owner.
class TplogIndexReader {
 public:
  struct Record {
    uint64_t begin = 0;                    // Offset in the index, before the record's names if any.
    uint64_t end = 0;                      // Offset of the next record.
    RecordKind kind = RecordKind::kBlock;  // kBlock, kCutBlock or kProgress.
    IndexBlock block;                      // For kCutBlock, the remaining part.
    IndexProgress progress;
  };

  // Checks the header; kDataLoss if it is not one.
  static absl::StatusOr<TplogIndexReader> Open(std::string path);

  // Reads the index from a record on. `index_offset` is the record's position in the file,
  // `log_offset` and `seq` those of the messages that it describes, and `names` those of the
  // records before it, as the index's writer knows them. Checks nothing before that record.
  static TplogIndexReader OpenAt(std::shared_ptr<const File> file, uint64_t index_offset,
                                 uint64_t log_offset, uint64_t seq, IndexDictionary names);

  // Returns the next block or progress; nullopt at the end. There, torn_bytes() says how much
  // follows the last whole record: a part of a record, zeros, or both. Later calls continue if the
  // index has grown. kDataLoss, naming the position, if a record that is not the last does not
  // match its checksum, or if a record contradicts those before it.
  absl::StatusOr<std::optional<Record>> Next();

  // Moves back to before the record that Next returned last. At most once per Next.
  void Unread();
  void Rewind();
  // Frees the buffer; the next call reads it again.
  void ReleaseMemory() { window_ = ByteBuffer(); }

  const File& file() const { return *file_; }
  const IndexDictionary& names() const { return names_; }
  uint64_t position() const { return at_.position; }  // Offset of the next record.
  uint64_t torn_bytes() const { return torn_bytes_; }

 private:
  // The reading position: everything that Unread restores.
  struct Place {
    uint64_t position = kIndexHeaderBytes;
    uint64_t log_offset = kTplogHeaderBytes;  // Where the next block begins.
    uint64_t seq = 0;
    uint32_t next_table = 0;
    uint32_t next_feed = kSourceNone + 1;
  };
  using Bytes = std::span<const std::byte>;

  explicit TplogIndexReader(std::shared_ptr<const File> file) : file_(std::move(file)) {}

  absl::StatusOr<std::optional<Record>> NextRecord();
  absl::StatusOr<std::optional<Bytes>> PeekBytes();
  absl::StatusOr<uint64_t> ZerosToEnd(uint64_t offset) const;
  absl::StatusOr<Bytes> Window(size_t bytes);
  absl::Status TakeName(Bytes record);
  absl::Status ParseBlock(Bytes record, IndexBlock* out) const;
  absl::Status ParseProgress(Bytes record, IndexProgress* out) const;
  void TakeCuts(Record* record);
  void GoTo(const Place& place);
  absl::Status Damaged(std::string_view found) const;

  std::shared_ptr<const File> file_;
  IndexDictionary names_;
  Place at_;
  Place before_;  // Place of the record that Next returned last.
  uint64_t torn_bytes_ = 0;
  ByteBuffer window_;
  uint64_t window_offset_ = 0;  // File offset of the window's first byte.
};

// Add a record's counts to the totals. AddFeedRows adds only the block's rows to the feed_rows of
// its feed.
void AddBlock(const IndexBlock& block, const IndexDictionary& names, TplogTotals& totals);
void AddFeedRows(const IndexBlock& block, const IndexDictionary& names, TplogTotals& totals);
void AddProgress(const IndexProgress& progress, const IndexDictionary& names, TplogTotals& totals);

}  // namespace tickstack::tplog
