#pragma once

// Reads databases for the tests of their writers: files as bytes, and the columns of an
// uncompressed partition as vectors. Shares no code with the writers.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::disk {

// A temporary folder, which the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}
  explicit TemporaryFolder(const std::filesystem::path& parent) {
    std::string pattern = parent / "tickstack-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Returns a parent folder in memory, where a sync costs nothing, for tests with thousands of
  // syncs. If the machine has none, returns the ordinary temporary folder.
  static std::filesystem::path InMemory() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
  }

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void PutFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

template <typename T>
std::vector<T> ElementsAt(std::string_view bytes, size_t offset, size_t count) {
  std::vector<T> elements(count);
  if (offset + count * sizeof(T) > bytes.size()) {
    ADD_FAILURE() << bytes.size() << " bytes, expected " << count << " elements from " << offset;
    return elements;
  }
  if (count > 0) std::memcpy(elements.data(), bytes.data() + offset, count * sizeof(T));
  return elements;
}

// Returns the elements of a column of a fixed width.
template <typename T>
std::vector<T> FixedColumn(const std::string& path) {
  const std::string bytes = FileBytes(path);
  const int64_t count = ElementsAt<int64_t>(bytes, 8, 1)[0];
  EXPECT_EQ(bytes.substr(0, 2), "\xfe\x20") << path;
  EXPECT_EQ(bytes.size(), 16 + static_cast<size_t>(count) * sizeof(T)) << path;
  return ElementsAt<T>(bytes, 16, static_cast<size_t>(count));
}

// Returns the names in `sym` or in a `.d`.
inline std::vector<std::string> Names(const std::string& path) {
  const std::string bytes = FileBytes(path);
  EXPECT_EQ(bytes.substr(0, 4), std::string("\xff\x01\x0b\0", 4)) << path;
  std::vector<std::string> names;
  for (size_t at = 8; at < bytes.size(); at = bytes.find('\0', at) + 1) {
    names.emplace_back(bytes.c_str() + at);
  }
  return names;
}

// Returns the names in a column of symbols, "" for null; `sym` is the path of the domain.
inline std::vector<std::string> SymbolColumn(const std::string& path, const std::string& sym) {
  const std::string bytes = FileBytes(path);
  EXPECT_EQ(bytes.substr(0, 2), "\xfd\x20") << path;
  const int64_t count = ElementsAt<int64_t>(bytes, 4088, 1)[0];
  const std::vector<std::string> names = Names(sym);
  std::vector<std::string> symbols;
  for (const int64_t at : ElementsAt<int64_t>(bytes, 4096, static_cast<size_t>(count))) {
    if (at != INT64_MIN && (at < 0 || at >= static_cast<int64_t>(names.size()))) {
      ADD_FAILURE() << path << ": position " << at << " of " << names.size() << " names";
      return symbols;
    }
    symbols.push_back(at == INT64_MIN ? "" : names[static_cast<size_t>(at)]);
  }
  return symbols;
}

}  // namespace tickstack::disk
