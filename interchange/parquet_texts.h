#pragma once

// Texts as pages of a Parquet file: plain, or as numbers of texts in a dictionary.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "interchange/parquet_pages.h"

namespace tickstack::interchange::parquet {

// Collects the extremes of texts in the order of their bytes, which is Parquet's.
class TextExtremes {
 public:
  void Add(std::string_view utf8);
  // Stores the extremes, unless there are none or one is too long for a footer.
  void Store(Chunk& chunk) const;

 private:
  static constexpr size_t kBytesMax = 64;

  bool any_ = false;
  std::string min_, max_;
};

// Appends texts as pages in PLAIN encoding. Threads: one owner.
class TextPages {
 public:
  // The writer and the chunk must outlive this object.
  TextPages(PageWriter& pages, Chunk& chunk) : pages_(pages), chunk_(chunk) {}

  void AddNull();
  void Add(std::string_view text);  // At most kTextBytesMax bytes.
  void Finish();                    // Writes the last page, and the extremes of all texts.

 private:
  static constexpr size_t kPageBytes = size_t{1} << 20;  // A page ends when it has this size.

  void WriteFullPage();

  PageWriter& pages_;
  Chunk& chunk_;
  Validity valid_{0};
  std::string plain_;
  TextExtremes extremes_;
};

// The distinct texts of a group of rows, numbered in order of first appearance. Threads: one owner.
class Dictionary {
 public:
  static constexpr uint32_t kNullNumber = UINT32_MAX;  // The number of a row without a text.

  // Returns the number of a text, and adds it if it is new. Texts that are equal as UTF-8 have the
  // same number. At most kTextBytesMax bytes.
  uint32_t NumberOf(std::string_view text);

  // Appends the pages of rows with these numbers: indices into a dictionary or, if the texts are
  // too long for one, plain texts.
  void WriteRows(std::span<const uint32_t> numbers, PageWriter& pages, Chunk& chunk) const;

 private:
  static constexpr size_t kBytesMax = size_t{16} << 20;

  std::string_view TextOf(uint32_t number) const;
  void WriteIndices(std::span<const uint32_t> numbers, PageWriter& pages, Chunk& chunk) const;

  std::string plain_;                                   // All texts in PLAIN encoding.
  std::vector<size_t> starts_;                          // Where each text begins in plain_.
  absl::flat_hash_map<std::string, uint32_t> numbers_;  // By text as UTF-8.
  TextExtremes extremes_;
};

}  // namespace tickstack::interchange::parquet
