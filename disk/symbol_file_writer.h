#pragma once

// Writes the file `sym` of a database (symbol_file.h reads it): names, whose order gives the
// numbers that columns store. It only ever grows, since old partitions have old numbers.
//
//   ff 01 0b 00 | i32 n | name \0 name \0 ...      n: count at creation; readers ignore it
//
// A name is appended and synced before any column uses its number. So a name that a crash tore has
// never been used, and is cut off when the file is opened. A new file is created complete, by a
// rename.
//
// `sym.checksums$` beside it has the file's checksums (checksum_file.h). It is replaced after names
// were appended and synced, so it covers the file or, after a crash, what the file had before: a
// reader does not verify the bytes after that.
//
// There is one writer at a time, by a lock on a file beside it whose name ends in `$`, which kdb+
// ignores when it loads the folder. A q process that appends to the same file meanwhile is not
// detected.
//
// Threads: one owner.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/string_map.h"
#include "disk/checksum_file.h"
#include "disk/storage.h"

namespace tickstack::disk {

class SymbolFileWriter {
 public:
  static constexpr std::string_view kDomain = "sym";
  static constexpr uint64_t kBytesMax = uint64_t{1} << 30;

  // Opens the symbol file of the database in this folder, which must exist. A missing file is not
  // created yet. Holds the lock until destroyed. kUnavailable if another process writes; kDataLoss
  // if the file is not a list of names, is compressed, or does not match its checksums;
  // kResourceExhausted beyond kBytesMax.
  static absl::StatusOr<std::unique_ptr<SymbolFileWriter>> Open(const std::string& database,
                                                                const Storage& storage);

  // Returns the number of each name; null for "". New names are appended, and durable when this
  // returns. After an error the numbers are unchanged; open the file again before the next attempt.
  absl::StatusOr<std::vector<int64_t>> Numbers(std::span<const std::string_view> names);

  int64_t size() const { return count_; }
  int64_t appended() const { return appended_; }       // Since it was opened.
  uint64_t torn_bytes() const { return torn_bytes_; }  // Bytes that opening cut off.

 private:
  SymbolFileWriter(std::string path, const Storage& storage, File lock)
      : path_(std::move(path)), storage_(storage), lock_(std::move(lock)) {}
  absl::Status Read();
  absl::Status Append(std::span<const std::string_view> fresh);
  absl::Status WriteChecksums();

  const std::string path_;
  const Storage storage_;
  const File lock_;
  bool exists_ = false;  // True if it exists as a file that names can be appended to.
  uint64_t bytes_ = 0;   // Up to the end of the last whole name.
  int64_t count_ = 0;
  int64_t appended_ = 0;
  uint64_t torn_bytes_ = 0;
  BlockChecksums checksums_;      // Of bytes_ bytes.
  uint64_t checksums_bytes_ = 0;  // Bytes that the checksums on the disk cover.
  StringMap<int64_t> numbers_;
};

// Returns the bytes of a list of names as kdb+ stores one: the initial content of `sym`, and every
// `.d`.
ByteBuffer SymbolListFile(std::span<const std::string_view> names);

}  // namespace tickstack::disk
