#include "query/symbol_rows.h"

#include <algorithm>
#include <bit>

namespace tickstack::query {

SymbolRows::SymbolRows(const Column& key, std::span<const SymbolId> ids) : key_(key) {
  for (SymbolId id : ids) {
    const std::optional<Postings> postings = key.snapshot().RowsOf(id);
    if (!postings.has_value() || postings->rows == 0) continue;
    ids_.push_back(id);
    rows_.push_back(std::make_shared<const RowSet>(RowSet::OfPostings(*postings)));
  }
}

std::optional<SymbolRows> SymbolRows::WithTimes(int64_t first_ns, int64_t last_ns) const {
  SymbolRows cut(key_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i]->has_sorted_times()) return std::nullopt;
    RowSet rows = rows_[i]->WithTimes(first_ns, last_ns);
    if (rows.count() == 0) continue;
    cut.ids_.push_back(ids_[i]);
    cut.rows_.push_back(std::make_shared<const RowSet>(std::move(rows)));
  }
  return cut;
}

absl::StatusOr<RowSet> SymbolRows::Merge(Budget& budget) const {
  if (rows_.empty()) return RowSet();
  if (rows_.size() == 1) return *rows_[0];
  size_t count = 0;
  for (const auto& rows : rows_) count += rows->count();
  const size_t table_rows = key_.rows();
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(uint32_t)));
  ScratchVector<uint32_t> merged;
  merged.reserve(count);
  for (const auto& rows : rows_) {
    for (const PostingRun& run : rows->runs()) {
      merged.insert(merged.end(), run.rows.begin(), run.rows.end());
    }
  }
  if (count < table_rows / 64) {
    std::ranges::sort(merged);
    return RowSet::Of(std::move(merged));
  }
  TS_RETURN_IF_ERROR(budget.Charge(table_rows / 64 + 1, sizeof(uint64_t)));
  ScratchVector<uint64_t> bits(table_rows / 64 + 1);
  for (uint32_t row : merged) bits[row / 64] |= uint64_t{1} << row % 64;
  size_t at = 0;
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      merged[at++] = static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(left)));
    }
  }
  return RowSet::Of(std::move(merged));
}

}  // namespace tickstack::query
