#pragma once

// Writes the file `sym` of a database (symbol_file.h reads it): a list of names. Columns store the
// positions of names in this list, so the file only grows and never changes otherwise.
//
//   ff 01 0b 00 | i32 n | name \0 name \0 ...      n: count at creation; readers ignore it
//
// A name is appended and synced before any column uses its number. So if a crash left only a part
// of a name, no column uses it, and opening the file removes it. A new file appears complete, by a
// rename.
//
// `sym.checksums$` beside it has the file's checksums (checksum_file.h). It is replaced after names
// were appended and synced. After a crash it may therefore cover only the older names; readers do
// not verify the bytes after these.
//
// A lock ensures that there is one writer at a time. It is on a file beside `sym` whose name ends
// in `$`, which kdb+ ignores when it loads the folder. The lock does not keep out a q process, and
// a change by one is not detected.
//
// Threads: one owner.

#include <chrono>
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

// Takes the lock of the database in this folder, which must exist; its holder alone may write or
// move partitions. kUnavailable if another process holds it for longer than `at_most`, for which
// this blocks the thread.
absl::StatusOr<File> LockDatabase(const std::string& database,
                                  std::chrono::nanoseconds at_most = {});

class SymbolFileWriter {
 public:
  static constexpr std::string_view kDomain = "sym";
  static constexpr uint64_t kBytesMax = uint64_t{1} << 30;

  // Opens the symbol file of the database in this folder, which must exist. If it is missing, it is
  // created only when names are added. The writer holds the lock until it is destroyed.
  // kUnavailable if another process holds the lock; kDataLoss if the file is not a list of names,
  // is compressed, or does not match its checksums; kResourceExhausted if the file has more than
  // kBytesMax.
  static absl::StatusOr<std::unique_ptr<SymbolFileWriter>> Open(const std::string& database,
                                                                const Storage& storage);

  // Returns the number of each name; null for "". Appends new names, which are durable when it
  // returns. After an error the numbers are unchanged; open the file again before the next attempt.
  absl::StatusOr<std::vector<int64_t>> Numbers(std::span<const std::string_view> names);

  int64_t size() const { return count_; }
  int64_t appended() const { return appended_; }       // Number of names appended since opening.
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
  bool exists_ = false;  // True if the file exists and names can be appended to it.
  uint64_t bytes_ = 0;   // Size up to the end of the last whole name.
  int64_t count_ = 0;
  int64_t appended_ = 0;
  uint64_t torn_bytes_ = 0;
  BlockChecksums checksums_;      // Checksums of the first bytes_ bytes.
  uint64_t checksums_bytes_ = 0;  // Bytes that the checksums on the disk cover.
  StringMap<int64_t> numbers_;
};

// Returns a file with these names as kdb+ stores it. Used for `.d` files and for a new `sym`.
ByteBuffer SymbolListFile(std::span<const std::string_view> names);

}  // namespace tickstack::disk
