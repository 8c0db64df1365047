#include "query/grouping/time_buckets.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace tickstack::query {
namespace {

constexpr std::pair<std::string_view, int64_t> kParts[] = {
    {"second", kNsPerSecond},
    {"minute", 60 * kNsPerSecond},
    {"hh", 3'600 * kNsPerSecond},
    {"date", kNsPerDay},
};

bool HoldsNs(const TableView& view, int column) {
  if (column < 0) return false;
  const Type type = view.columns[static_cast<size_t>(column)].type();
  return type == Type::kTimestamp || type == Type::kTimespan;
}

// Reads `time.minute` and the like.
std::optional<TimeBucket> PartOfTime(std::string_view name, const TableView& view) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || view.Find(name) >= 0) return std::nullopt;
  const int column = view.Find(name.substr(0, dot));
  const auto part = std::ranges::find(kParts, name.substr(dot + 1),
                                      [](const auto& known) { return known.first; });
  if (!HoldsNs(view, column) || part == std::end(kParts)) return std::nullopt;
  return TimeBucket{static_cast<size_t>(column), part->second};
}

// Reads `0D00:01 xbar time` and the like.
std::optional<TimeBucket> Bar(const Node& node, const TableView& view) {
  if (node.children.size() != 3) return std::nullopt;
  const Node &function = *node.children[0], &width = *node.children[1], &time = *node.children[2];
  if (function.kind != Node::Kind::kFunction || function.function->name != "xbar" ||
      width.kind != Node::Kind::kConstant || time.kind != Node::Kind::kName) {
    return std::nullopt;
  }
  if (!width.value.is_atom_of(Type::kTimespan) && !width.value.is_atom_of(Type::kLong)) {
    return std::nullopt;
  }
  const int column = view.Find(time.name);
  const auto bucket_ns = width.value.as<int64_t>();
  if (!HoldsNs(view, column) || bucket_ns <= 0) return std::nullopt;
  return TimeBucket{static_cast<size_t>(column), bucket_ns};
}

// Collects runs. Its functions return false if runs do not pay or a time is out of range.
class RunFinder {
 public:
  RunFinder(int64_t bucket_ns, size_t rows) : bucket_ns_(bucket_ns), runs_max_(rows / 8 + 8) {}

  bool Add(const Block<int64_t>& block) {
    const std::span<const int64_t> times = block.elements;
    for (size_t i = 0; i < times.size();) {
      // Checks 64 rows at a time, because most rows are in the bucket of the row before.
      constexpr size_t kStep = 64;
      while (i + kStep <= times.size() && AllInBucket(times.data() + i, kStep)) i += kStep;
      const size_t end = std::min(i + kStep, times.size());
      for (; i < end; ++i) {
        if (times[i] >= begin_ns_ && times[i] < end_ns_) continue;
        if (times[i] < 0 || times[i] > kInfinityLong - bucket_ns_) return false;
        if (runs_.first_rows.size() == runs_max_) return false;
        if (!runs_.first_rows.empty()) {
          runs_.ends.push_back(static_cast<uint32_t>(position_ + i));
        }
        runs_.first_rows.push_back(block.RowAt(i));
        begin_ns_ = times[i] - times[i] % bucket_ns_;
        end_ns_ = begin_ns_ + bucket_ns_;
      }
    }
    position_ += times.size();
    return true;
  }
  TimeRuns Finish() && {
    if (position_ > 0) runs_.ends.push_back(static_cast<uint32_t>(position_));
    return std::move(runs_);
  }

 private:
  bool AllInBucket(const int64_t* times, size_t n) const {
    bool outside = false;
    for (size_t i = 0; i < n; ++i) outside |= (times[i] < begin_ns_) | (times[i] >= end_ns_);
    return !outside;
  }

  const int64_t bucket_ns_;
  const size_t runs_max_;
  size_t position_ = 0;
  int64_t begin_ns_ = 0, end_ns_ = 0;  // The current bucket; empty at first.
  TimeRuns runs_;
};

}  // namespace

std::optional<TimeBucket> TimeBucketOf(const Node& node, const TableView& view) {
  if (node.kind == Node::Kind::kName) return PartOfTime(node.name, view);
  const auto is_missing = [](const NodePtr& child) { return child == nullptr; };
  if (node.kind != Node::Kind::kApply || std::ranges::any_of(node.children, is_missing)) {
    return std::nullopt;
  }
  return Bar(node, view);
}

absl::StatusOr<std::optional<TimeRuns>> FindTimeRuns(const Slice& times, int64_t bucket_ns,
                                                     Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(times.count() / 8 + 8, 2 * sizeof(uint32_t)));
  RunFinder finder(bucket_ns, times.count());
  bool found = true;
  TS_RETURN_IF_ERROR(ForEachBlock<int64_t>(
      times, budget, [&](const Block<int64_t>& block) { found = found && finder.Add(block); }));
  if (!found) return std::nullopt;
  return std::move(finder).Finish();
}

}  // namespace tickstack::query
