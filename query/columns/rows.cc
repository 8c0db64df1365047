#include "query/columns/rows.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "mem/medium.h"

namespace tickstack::query {
namespace {

PostingRun Part(const PostingRun& run, size_t begin, size_t end) {
  PostingRun part{run.rows.subspan(begin, end - begin), {}, run.medium};
  if (!run.coarse.empty()) part.coarse = run.coarse.subspan(begin, end - begin);
  return part;
}

}  // namespace

RowSet RowSet::Range(size_t begin_row, size_t end_row) {
  RowSet set;
  set.begin_row_ = begin_row;
  set.count_ = end_row - begin_row;
  return set;
}

void RowSet::AddRange(size_t begin_row, size_t end_row) {
  if (begin_row == end_row) return;
  if (!ranges_.empty()) {
    const RangeAt& last = ranges_.back();
    TS_DCHECK(begin_row >= last.begin_row + (count_ - last.position));
    if (begin_row == last.begin_row + (count_ - last.position)) {
      count_ += end_row - begin_row;
      return;
    }
  }
  ranges_.push_back({begin_row, count_});
  count_ += end_row - begin_row;
}

// Returns the set in its simplest form: a set of one run becomes a range.
RowSet RowSet::Settled() && {
  if (ranges_.size() == 1) return Range(ranges_[0].begin_row, ranges_[0].begin_row + count_);
  return std::move(*this);
}

RowSet RowSet::FromRanges(std::span<const disk::RowRange> ranges) {
  RowSet set;
  for (const disk::RowRange& range : ranges) {
    set.AddRange(static_cast<size_t>(range.begin_row), static_cast<size_t>(range.end_row));
  }
  return std::move(set).Settled();
}

size_t RowSet::NumberOfRange(size_t i) const {
  const auto after = std::ranges::upper_bound(ranges_, i, {}, &RangeAt::position);
  return static_cast<size_t>(after - ranges_.begin()) - 1;
}

void RowSet::AddRun(PostingRun run) {
  if (run.rows.empty()) return;
  count_ += run.rows.size();
  runs_.push_back(run);
}

RowSet RowSet::Borrow(std::span<const uint32_t> ascending_rows, std::shared_ptr<const void> owner) {
  RowSet set;
  set.AddRun({ascending_rows, {}, nullptr});
  set.owner_ = std::move(owner);
  return set;
}

RowSet RowSet::FromRows(ScratchVector<uint32_t> ascending_rows) {
  const auto owner = std::make_shared<const ScratchVector<uint32_t>>(std::move(ascending_rows));
  return Borrow(*owner, owner);
}

RowSet RowSet::FromPostings(const Postings& postings) {
  RowSet set;
  for (const PostingRun& run : postings.runs) set.AddRun(run);
  if (postings.time_sorted && !set.runs_.empty()) set.times_ = postings.times;
  set.owner_ = postings.owner;
  return set;
}

size_t RowSet::At(size_t i) const {
  TS_DCHECK(i < count_);
  if (is_range()) return begin_row_ + i;
  if (has_ranges()) {
    const RangeAt& range = ranges_[NumberOfRange(i)];
    return range.begin_row + (i - range.position);
  }
  size_t run = 0;
  while (i >= runs_[run].rows.size()) i -= runs_[run++].rows.size();
  return runs_[run].rows[i];
}

RowSet RowSet::Slice(size_t skip, size_t n) const {
  skip = std::min(skip, count_);
  n = std::min(n, count_ - skip);
  if (is_range()) return Range(begin_row_ + skip, begin_row_ + skip + n);
  RowSet part;
  if (has_ranges()) {
    (void)EachRange(skip, skip + n, [&](size_t begin_row, size_t end_row, size_t) {
      part.AddRange(begin_row, end_row);
      return absl::OkStatus();
    });
    return std::move(part).Settled();
  }
  part.owner_ = owner_;
  for (const PostingRun& run : runs_) {
    const size_t begin = std::min(skip, run.rows.size());
    const size_t end = std::min(begin + n, run.rows.size());
    part.AddRun(Part(run, begin, end));
    skip -= begin;
    n -= end - begin;
  }
  if (!part.runs_.empty()) part.times_ = times_;
  return part;
}

RowSet RowSet::WithTimes(int64_t first_ns, int64_t last_ns) const {
  TS_CHECK(times_.has_value());
  RowSet part;
  part.owner_ = owner_;
  for (const PostingRun& run : runs_) {
    const size_t begin = times_->CountBefore(run, first_ns);
    const size_t end = times_->CountAtOrBefore(run, last_ns);
    if (begin < end) part.AddRun(Part(run, begin, end));
  }
  if (!part.runs_.empty()) part.times_ = times_;
  return part;
}

ScratchVector<uint32_t> RowSet::ToVector() const {
  ScratchVector<uint32_t> rows;
  if (is_range()) {
    rows.resize(count_);
    std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin_row_));
    return rows;
  }
  if (has_ranges()) {
    rows.resize(count_);
    (void)EachRange(0, count_, [&](size_t begin_row, size_t end_row, size_t position) {
      const auto begin = rows.begin() + static_cast<ptrdiff_t>(position);
      std::iota(begin, begin + static_cast<ptrdiff_t>(end_row - begin_row),
                static_cast<uint32_t>(begin_row));
      return absl::OkStatus();
    });
    return rows;
  }
  rows.reserve(count_);
  for (const PostingRun& run : runs_) {
    mem::MediumAccess access(run.medium);
    rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    access.ReadInOrder(run.rows.data(), run.rows.size_bytes());
  }
  return rows;
}

ScratchVector<int64_t> RowSet::PositionsIn(const RowSet& outer) const {
  ScratchVector<int64_t> positions;
  positions.reserve(count_);
  if (outer.is_range()) {
    for (uint32_t row : ToVector()) {
      positions.push_back(int64_t{row} - static_cast<int64_t>(outer.begin_row_));
    }
    return positions;
  }
  if (outer.has_ranges()) {
    size_t range = 0;
    for (uint32_t row : ToVector()) {
      while (range + 1 < outer.ranges_.size() && outer.ranges_[range + 1].begin_row <= row) ++range;
      const RangeAt& at = outer.ranges_[range];
      positions.push_back(static_cast<int64_t>(at.position + (row - at.begin_row)));
    }
    return positions;
  }
  // Both ascend, so the search goes on from where the last one ended.
  size_t run = 0, before = 0, at = 0;  // `before` counts the outer rows in earlier runs.
  for (uint32_t row : ToVector()) {
    while (outer.runs_[run].rows.back() < row) {
      before += outer.runs_[run++].rows.size();
      at = 0;
    }
    const std::span<const uint32_t> rest = outer.runs_[run].rows.subspan(at);
    at += static_cast<size_t>(std::ranges::lower_bound(rest, row) - rest.begin());
    positions.push_back(static_cast<int64_t>(before + at));
  }
  return positions;
}

void RowSetBuilder::Append(std::span<const uint32_t> ascending_rows) {
  // Makes the block with its header a power of two of bytes, because tiers hand out such sizes.
  constexpr size_t kFirstBlockRows = (size_t{8} << 10) / sizeof(uint32_t);
  constexpr size_t kBlockRows = ((size_t{128} << 10) - kBlockHeaderBytes) / sizeof(uint32_t);
  while (!ascending_rows.empty()) {
    if (blocks_.empty() || blocks_.back().size() == blocks_.back().capacity()) {
      blocks_.emplace_back().reserve(blocks_.size() == 1 ? kFirstBlockRows : kBlockRows);
    }
    ScratchVector<uint32_t>& block = blocks_.back();
    const size_t n = std::min(block.capacity() - block.size(), ascending_rows.size());
    block.insert(block.end(), ascending_rows.begin(),
                 ascending_rows.begin() + static_cast<ptrdiff_t>(n));
    ascending_rows = ascending_rows.subspan(n);
  }
}

RowSet RowSetBuilder::Join(std::vector<RowSetBuilder> parts) {
  RowSetBuilder all;
  for (RowSetBuilder& part : parts) {
    for (ScratchVector<uint32_t>& block : part.blocks_) all.blocks_.push_back(std::move(block));
  }
  return std::move(all).Finish();
}

RowSet RowSetBuilder::Finish() && {
  RowSet set;
  const auto owner =
      std::make_shared<const ScratchVector<ScratchVector<uint32_t>>>(std::move(blocks_));
  for (const ScratchVector<uint32_t>& block : *owner) set.AddRun({block, {}, nullptr});
  set.owner_ = owner;
  return set;
}

}  // namespace tickstack::query
