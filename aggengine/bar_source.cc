#include "aggengine/bar_source.h"

#include <algorithm>

namespace tickstack::aggengine {
namespace {

// A block of 64 symbols needs some 450 bytes each, which stay in the first two levels of caches
// between two loops.
constexpr size_t kBlockSymbols = 64;

}  // namespace

Bars* BarSource::AddBars(const BarSpec& spec, mem::Tier* tier, size_t history_bytes) {
  bars_.push_back(std::make_unique<Bars>(spec, schema_, batch_, tier));
  records_.resize(bars_.size());
  run_records_.resize(bars_.size());
  Bars* const bars = bars_.back().get();
  for (size_t number = 0; number < bars->time_operands().size(); ++number) {
    const size_t operand = bars->time_operands()[number];
    auto timed = std::find_if(timed_.begin(), timed_.end(),
                              [&](const TimedOperand& t) { return t.operand == operand; });
    if (timed == timed_.end()) {
      timed_.push_back({operand, std::make_unique<StepHistory>(tier, history_bytes), {}});
      timed = timed_.end() - 1;
    }
    timed->readers.push_back({bars_.size() - 1, number});
  }
  return bars;
}

BarSource::Taken BarSource::TakeAdded() {
  batch_.Arrange();
  if (newest_ns_.size() < batch_.symbol_slots()) {
    newest_ns_.resize(batch_.symbol_slots(), INT64_MIN);
  }
  for (const std::unique_ptr<Bars>& bars : bars_) bars->BeginBatch(batch_.symbol_slots());
  const std::span<const SymbolGroups::Group> groups = batch_.groups();
  Taken taken;
  for (size_t at = 0; at < groups.size(); at += kBlockSymbols) {
    TakeBlock(groups.subspan(at, std::min(kBlockSymbols, groups.size() - at)), taken);
  }
  return taken;
}

void BarSource::Prefetch(std::span<const SymbolGroups::Group> groups) const {
  // g++ thinks that a function which only prefetches has no effect, and leaves out its calls.
  asm volatile("");
  for (const SymbolGroups::Group& group : groups) {
    __builtin_prefetch(&newest_ns_[group.slot], 1);
    for (const std::unique_ptr<Bars>& bars : bars_) bars->PrefetchFinder(group.slot);
    for (const TimedOperand& timed : timed_) timed.history->PrefetchLine(group.slot);
  }
  for (const SymbolGroups::Group& group : groups) {
    for (const std::unique_ptr<Bars>& bars : bars_) bars->PrefetchRecord(group.slot);
    for (const TimedOperand& timed : timed_) timed.history->PrefetchEnd(group.slot);
  }
}

void BarSource::TakeBlock(std::span<const SymbolGroups::Group> groups, Taken& taken) {
  const size_t begin = groups.front().begin, end = groups.back().end;
  Prefetch(groups);
  CountSteps(begin, end);
  runs_.clear();
  others_.clear();
  for (std::vector<BarRecord*>& records : run_records_) records.clear();
  for (const SymbolGroups::Group& group : groups) {
    if (!ContinuesIntervals(group, begin)) {
      others_.push_back(group);
      continue;
    }
    runs_.push_back(group);
    for (size_t i = 0; i < bars_.size(); ++i) run_records_[i].push_back(records_[i]);
    newest_ns_[group.slot] = batch_.times()[group.end - 1];
    taken.newest_ns = std::max(taken.newest_ns, newest_ns_[group.slot]);
  }
  for (size_t i = 0; i < bars_.size(); ++i) bars_[i]->TakeRuns(run_records_[i], batch_, runs_);
  for (TimedOperand& timed : timed_) TakeIntegral(timed, begin, end);
  for (const SymbolGroups::Group& group : others_) TakeGroup(group, taken);
}

void BarSource::CountSteps(size_t begin, size_t end) {
  const std::span<const int64_t> times = batch_.times();
  back_.assign(end - begin, 0);
  uint32_t back = 0;
  for (size_t at = begin + 1; at < end; ++at) {
    back += times[at] < times[at - 1] ? 1 : 0;
    back_[at - begin] = back;
  }
}

// Returns whether all rows of a symbol are later than its newest one, and in the same interval as
// that for every kind of bar. If so, records_ are the records of these rows.
bool BarSource::ContinuesIntervals(const SymbolGroups::Group& group, size_t block_begin) {
  const int64_t newest_ns = newest_ns_[group.slot];
  const int64_t first_ns = batch_.times()[group.begin], last_ns = batch_.times()[group.end - 1];
  bool goes_on = first_ns > newest_ns &&
                 back_[group.begin - block_begin] == back_[group.end - 1 - block_begin];
  for (size_t i = 0; i < bars_.size(); ++i) {
    records_[i] = bars_[i]->Current(group.slot);
    goes_on &= bars_[i]->Has(records_[i], newest_ns) && bars_[i]->Has(records_[i], last_ns);
  }
  return goes_on;
}

void BarSource::TakeIntegral(TimedOperand& timed, size_t block_begin, size_t block_end) {
  const std::span<const int64_t> times = batch_.times();
  const std::span<const double> values = batch_.AsFloats(timed.operand);
  const size_t block_rows = block_end - block_begin;
  integrals_.Load(times.subspan(block_begin, block_rows), values.subspan(block_begin, block_rows));
  for (size_t i = 0; i < runs_.size(); ++i) {
    const auto [slot, begin, end] = runs_[i];
    const Step before = timed.history->AppendRun(slot, times.subspan(begin, end - begin),
                                                 values.subspan(begin, end - begin));
    ExactIntegral integral;
    integral.Add(before.value, times[begin] - before.time_ns);
    integrals_.AddTo(begin - block_begin, end - block_begin, integral);
    for (const Reader& reader : timed.readers) {
      bars_[reader.bars]->TakeIntegral(reader.number, run_records_[reader.bars][i], integral);
    }
  }
}

// Returns the end of the longest run of rows from `begin` on whose times do not go back; `begin` if
// that row is late or has no time.
uint32_t BarSource::EndOfRun(uint32_t begin, uint32_t end, int64_t newest_ns) const {
  // A row without a time thus ends any run but an empty one.
  static_assert(TickBatch::kNoTime == INT64_MIN);
  const std::span<const int64_t> times = batch_.times();
  if (times[begin] == TickBatch::kNoTime) return begin;
  uint32_t at = begin;
  for (; at < end && times[at] >= newest_ns; ++at) newest_ns = times[at];
  return at;
}

void BarSource::TakeGroup(const SymbolGroups::Group& group, Taken& taken) {
  const std::span<const int64_t> times = batch_.times();
  int64_t& newest_ns = newest_ns_[group.slot];
  for (uint32_t at = group.begin; at < group.end;) {
    const uint32_t end = EndOfRun(at, group.end, newest_ns);
    if (end > at) {
      newest_ns = times[end - 1];
      taken.newest_ns = std::max(taken.newest_ns, newest_ns);
      for (uint32_t begin = at; begin < end;) {
        // Cuts where the first of the bars' intervals ends.
        int64_t end_ns = INT64_MAX;
        for (size_t i = 0; i < bars_.size(); ++i) {
          records_[i] = bars_[i]->RecordAt(group.slot, times[begin]);
          if (records_[i] != nullptr) end_ns = std::min(end_ns, bars_[i]->EndOf(records_[i]));
        }
        const auto cut =
            times[end - 1] < end_ns
                ? times.begin() + static_cast<ptrdiff_t>(end)
                : std::lower_bound(times.begin() + static_cast<ptrdiff_t>(begin),
                                   times.begin() + static_cast<ptrdiff_t>(end), end_ns);
        const auto cut_at = static_cast<uint32_t>(cut - times.begin());
        TakeRun({group.slot, begin, cut_at}, taken);
        begin = cut_at;
      }
      at = end;
      continue;
    }
    if (times[at] == TickBatch::kNoTime) {
      ++taken.without_time;
    } else {
      ++taken.late;
      for (size_t i = 0; i < bars_.size(); ++i) {
        records_[i] = bars_[i]->RecordAt(group.slot, times[at]);
      }
      TakeRun({group.slot, at, at + 1}, taken);
    }
    ++at;
  }
}

// Adds a run, whose records are records_.
void BarSource::TakeRun(const TickRun& run, Taken& taken) {
  for (size_t i = 0; i < bars_.size(); ++i) {
    if (records_[i] == nullptr) {
      taken.refused += run.end - run.begin;
    } else {
      bars_[i]->TakeRun(records_[i], batch_, run);
    }
  }
  for (TimedOperand& timed : timed_) TakeHistory(timed, run, taken);
}

void BarSource::TakeHistory(TimedOperand& timed, const TickRun& run, Taken& taken) {
  const auto [slot, begin, end] = run;
  const std::span<const int64_t> times = batch_.times();
  const std::span<const double> values = batch_.AsFloats(timed.operand);
  const StepHistory::Change change = timed.history->Insert(slot, times[begin], values[begin]);
  taken.forgotten += change.forgotten ? 1 : 0;
  for (const Reader& reader : timed.readers) {
    if (records_[reader.bars] == nullptr) continue;
    bars_[reader.bars]->TakeChange(reader.number, records_[reader.bars], times[begin],
                                   values[begin], change);
  }
  if (end - begin == 1) return;
  timed.history->AppendRun(slot, times.subspan(begin + 1, end - begin - 1),
                           values.subspan(begin + 1, end - begin - 1));
  ExactIntegral integral;
  for (size_t at = begin + 1; at < end; ++at) {
    integral.Add(values[at - 1], times[at] - times[at - 1]);
  }
  for (const Reader& reader : timed.readers) {
    if (records_[reader.bars] == nullptr || integral.over_ns == 0) continue;
    bars_[reader.bars]->TakeIntegral(reader.number, records_[reader.bars], integral);
  }
}

void BarSource::Clear() {
  batch_.DropAdded();
  for (const std::unique_ptr<Bars>& bars : bars_) bars->Clear();
  for (TimedOperand& timed : timed_) timed.history->Clear();
  newest_ns_.clear();
}

size_t BarSource::bytes() const {
  size_t bytes = history_bytes();
  for (const std::unique_ptr<Bars>& bars : bars_) bytes += bars->bytes();
  return bytes;
}

size_t BarSource::history_bytes() const {
  size_t bytes = 0;
  for (const TimedOperand& timed : timed_) bytes += timed.history->bytes();
  return bytes;
}

size_t BarSource::index_bytes() const {
  size_t bytes = newest_ns_.capacity() * sizeof(int64_t);
  for (const std::unique_ptr<Bars>& bars : bars_) bytes += bars->index_bytes();
  for (const TimedOperand& timed : timed_) bytes += timed.history->index_bytes();
  return bytes;
}

}  // namespace tickstack::aggengine
