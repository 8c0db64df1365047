#pragma once

// Configuration: a TOML file, read by key into the fields of an options struct.
//
//   TS_ASSIGN_OR_RETURN(const Config config, Config::Load("stack.toml"));
//   TS_ASSIGN_OR_RETURN(const ConfigTable rdb, config.root().Table("rdb"));
//   TS_RETURN_IF_ERROR(rdb.Read("port", &options.port));  // Absent: the field keeps its default.
//   ...
//   TS_RETURN_IF_ERROR(config.CheckUnusedKeys());  // `prot = 5012` is an error, not ignored.
//
// Every error is kInvalidArgument (kNotFound if there is no file) and names file, line, column and
// key, what was found and what was expected:
//
//   stack.toml:12:8: rdb.port: expected an integer from 0 to 65535, found string "x"
//
// Reading ends at the first error. To find all errors, remove the keys that have one (DropWrong),
// and read again.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

// A table of the file. For a table that the file lacks, it has no keys. Cheap to copy; keeps the
// file's content alive. Threads: as for Config.
class ConfigTable {
 public:
  bool Has(std::string_view key) const;
  // All keys, in the file's order.
  std::vector<std::string> Keys() const;
  // The path of the table, such as `rdb` or `rdb[1].tier`; empty for the root.
  const std::string& path() const { return path_; }

  // Each of these reads one key into its target, which does not change if the key is absent.
  absl::Status Read(std::string_view key, std::string* target) const;
  absl::Status Read(std::string_view key, bool* target) const;
  absl::Status Read(std::string_view key, double* target) const;  // Also takes integers.
  absl::Status Read(std::string_view key, std::vector<std::string>* target) const;
  template <std::integral T>
  absl::Status Read(std::string_view key, T* target, T min = std::numeric_limits<T>::min(),
                    T max = std::numeric_limits<T>::max()) const {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();  // TOML has no larger integers.
    const int64_t top = static_cast<uint64_t>(max) > kMost && std::unsigned_integral<T>
                            ? static_cast<int64_t>(kMost)
                            : static_cast<int64_t>(max);
    std::optional<int64_t> value;
    if (absl::Status status = ReadInteger(key, static_cast<int64_t>(min), top, &value);
        !status.ok()) {
      return status;
    }
    if (value.has_value()) *target = static_cast<T>(*value);
    return absl::OkStatus();
  }
  // Reads an array of integers from `min` to `max`.
  absl::Status Read(std::string_view key, std::vector<int>* target, int min, int max) const;
  // Reads a text that ParseBytes accepts, such as `"64GiB"`, or an integer number of bytes.
  absl::Status ReadBytes(std::string_view key, size_t* target) const;
  // Reads a text that ParseDuration accepts, such as `"50ms"`.
  absl::Status ReadDuration(std::string_view key, int64_t* target_ns) const;

  // Returns the table `[key]`; if it is absent, a table without keys.
  absl::StatusOr<ConfigTable> Table(std::string_view key) const;
  // Returns the tables `[[key]]`, or a single `[key]`; empty if there is none.
  absl::StatusOr<std::vector<ConfigTable>> Tables(std::string_view key) const;

  // Returns kInvalidArgument with the key's place and `what`, for a check that the caller made
  // itself.
  absl::Status ErrorAt(std::string_view key, std::string_view what) const;

 private:
  friend class Config;
  struct Document;
  ConfigTable(std::shared_ptr<Document> document, const void* table, std::string path)
      : document_(std::move(document)), table_(table), path_(std::move(path)) {}
  // Returns the key's TOML node; nullptr if absent. Records the key as read.
  const void* Find(std::string_view key) const;
  std::string Place(std::string_view key) const;
  absl::Status Mismatch(std::string_view key, std::string_view expected) const;
  absl::Status NoteError(std::string_view key, std::string_view what, bool of_type) const;
  absl::Status ReadInteger(std::string_view key, int64_t min, int64_t max,
                           std::optional<int64_t>* value) const;

  std::shared_ptr<Document> document_;
  const void* table_;  // toml::table, nullptr if absent.
  std::string path_;
};

// Threads: one at a time, since reading records which keys were read.
class Config {
 public:
  static absl::StatusOr<Config> Load(const std::string& path);
  // `name` names the file in errors.
  static absl::StatusOr<Config> Parse(std::string_view text, std::string_view name);

  const ConfigTable& root() const { return root_; }

  // Returns all values of the file, as TOML writes them, by their paths: `rdb[0].port`.
  std::map<std::string, std::string> Values() const;

  // Returns kInvalidArgument if the file has keys that were not read, with a line for each:
  // `stack.toml:7:1: rdb.prot: unknown key, did you mean port?`. Call it when everything has been
  // read.
  absl::Status CheckUnusedKeys() const;

  // What the last error was about.
  enum class Wrong : uint8_t {
    kNothing,
    kType,     // A value has the wrong type, or is out of range.
    kContent,  // Any other error at a key that the file has.
    kMissing,  // The file lacks a required key.
    kFollows,  // A key is missing in a table from which DropWrong removed keys, or such a table
               // is wrong as a whole.
    kUnknown,  // Keys that were not read.
  };
  Wrong wrong() const;
  // Removes what the last error was about, as if the file did not have it: the wrong key, all
  // unknown keys, or the table that lacks a required key. Each ConfigTable that was returned before
  // becomes invalid. Returns false if there is nothing to remove.
  bool DropWrong();

 private:
  explicit Config(ConfigTable root) : root_(std::move(root)) {}
  ConfigTable root_;
};

// Parses `4096`, `512MiB`, `64GB`. Units: B; KiB MiB GiB TiB (powers of 1024); KB MB GB TB (powers
// of 1000).
std::optional<size_t> ParseBytes(std::string_view text);
// Parses `50ms`, `1.5s`. Units: ns us ms s m h d. A number without a unit is nullopt, except 0.
std::optional<int64_t> ParseDuration(std::string_view text);

}  // namespace tickstack
