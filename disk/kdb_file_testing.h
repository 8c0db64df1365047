#pragma once

// Files of kdb+ for tests, built byte by byte according to docs/formats.md, independently of the
// program's writers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::disk {

template <typename T>
std::string LittleBytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
std::string ElementBytes(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
}

inline std::string VectorHeader(int type, int attribute, int64_t count) {
  std::string header("\xfe\x20", 2);
  header += static_cast<char>(type);
  header += static_cast<char>(attribute);
  return header + std::string(4, '\0') + LittleBytes(count);
}

// Returns a file of the form fe 20. `type` must have the width of T.
template <typename T>
std::string VectorFile(int type, const std::vector<T>& elements, int attribute = 0) {
  return VectorHeader(type, attribute, static_cast<int64_t>(elements.size())) +
         ElementBytes(elements);
}

// Returns the first 4096 bytes of an fd 20 file.
inline std::string PageHeader(std::string_view name, int flag, int type, int attribute,
                              int64_t count) {
  std::string page(4096, '\0');
  page.replace(0, 2, "\xfd\x20");
  page.replace(16, name.size(), name);
  page[4080] = '\xfd';
  page[4081] = static_cast<char>(flag);
  page[4082] = static_cast<char>(type);
  page[4083] = static_cast<char>(attribute);
  return page.replace(4088, 8, LittleBytes(count));
}

inline std::string Enum64File(std::string_view domain, const std::vector<int64_t>& positions,
                              int attribute = 0) {
  return PageHeader(domain, 0, 20, attribute, static_cast<int64_t>(positions.size())) +
         ElementBytes(positions);
}

// Returns a file of 32-bit enums, which begins with fe and the name of a domain, of up to 6
// letters.
inline std::string Enum32File(std::string_view domain, const std::vector<int32_t>& positions,
                              int attribute = 0) {
  std::string header = "\xfe" + std::string(domain);
  header.resize(11, '\0');
  header += static_cast<char>(attribute);
  return header + std::string(4, '\0') + LittleBytes(static_cast<int64_t>(positions.size())) +
         ElementBytes(positions);
}

inline std::string NamesFile(std::initializer_list<std::string_view> names, int32_t count = 0) {
  std::string file("\xff\x01\x0b\x00", 4);
  file += LittleBytes(count);
  for (const std::string_view name : names) file.append(name).push_back('\0');
  return file;
}

// A temporary directory for each test.
class KdbFiles {
 public:
  KdbFiles() {
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name();
    std::ranges::replace(name, '/', '.');  // Tests with parameters have slashes in their names.
    root_ = std::filesystem::path(testing::TempDir()) / ("kdb_files." + name);
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~KdbFiles() { std::filesystem::remove_all(root_); }
  KdbFiles(const KdbFiles&) = delete;

  std::string root() const { return root_.string(); }
  std::string PathOf(std::string_view name) const { return (root_ / name).string(); }
  // Writes a file, creating its directory if necessary. Returns its path.
  std::string Write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

 private:
  std::filesystem::path root_;
};

}  // namespace tickstack::disk
