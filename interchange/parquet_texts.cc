#include "interchange/parquet_texts.h"

#include <algorithm>

#include "table/utf8.h"

namespace tickstack::interchange::parquet {

void TextExtremes::Add(std::string_view utf8) {
  if (!any_ || utf8 < min_) min_ = utf8;
  if (!any_ || utf8 > max_) max_ = utf8;
  any_ = true;
}

void TextExtremes::Store(Chunk& chunk) const {
  chunk.has_extremes = any_ && std::max(min_.size(), max_.size()) <= kBytesMax;
  if (!chunk.has_extremes) return;
  chunk.min = min_;
  chunk.max = max_;
}

void TextPages::AddNull() {
  valid_.Append(false);
  WriteFullPage();
}

void TextPages::Add(std::string_view text) {
  valid_.Append(true);
  extremes_.Add(AppendText(plain_, text));
  WriteFullPage();
}

void TextPages::WriteFullPage() {
  if (valid_.rows() < kRowsPerPage && plain_.size() < kPageBytes) return;
  pages_.WriteRows(valid_, Encoding::kPlain, plain_, chunk_);
  valid_ = Validity(0);
  plain_.clear();
}

void TextPages::Finish() {
  if (valid_.rows() > 0) pages_.WriteRows(valid_, Encoding::kPlain, plain_, chunk_);
  extremes_.Store(chunk_);
}

uint32_t Dictionary::NumberOf(std::string_view text) {
  std::string utf8;
  AppendUtf8(utf8, text);
  const auto [found, is_new] = numbers_.try_emplace(utf8, static_cast<uint32_t>(starts_.size()));
  if (is_new) {
    starts_.push_back(plain_.size());
    AppendText(plain_, utf8);
    extremes_.Add(utf8);
  }
  return found->second;
}

std::string_view Dictionary::TextOf(uint32_t number) const {
  const size_t begin = starts_[number] + sizeof(uint32_t);
  const size_t end = number + 1 < starts_.size() ? starts_[number + 1] : plain_.size();
  return std::string_view(plain_).substr(begin, end - begin);
}

void Dictionary::WriteRows(std::span<const uint32_t> numbers, PageWriter& pages,
                           Chunk& chunk) const {
  if (plain_.size() <= kBytesMax) {
    pages.WriteDictionary(starts_.size(), plain_, chunk);
    WriteIndices(numbers, pages, chunk);
    extremes_.Store(chunk);
    return;
  }
  TextPages texts(pages, chunk);
  for (const uint32_t number : numbers) {
    number == kNullNumber ? texts.AddNull() : texts.Add(TextOf(number));
  }
  texts.Finish();
}

void Dictionary::WriteIndices(std::span<const uint32_t> numbers, PageWriter& pages,
                              Chunk& chunk) const {
  std::vector<uint32_t> indices;
  while (!numbers.empty()) {
    const std::span<const uint32_t> page = numbers.first(std::min(numbers.size(), kRowsPerPage));
    Validity valid(page.size());
    indices.clear();
    for (size_t i = 0; i < page.size(); ++i) {
      if (page[i] == kNullNumber) continue;
      valid.Set(i);
      indices.push_back(page[i]);
    }
    pages.WriteIndices(valid, starts_.size(), indices, chunk);
    numbers = numbers.subspan(page.size());
  }
}

}  // namespace tickstack::interchange::parquet
