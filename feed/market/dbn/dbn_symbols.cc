#include "feed/market/dbn/dbn_symbols.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/time.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kFirstNs = std::numeric_limits<int64_t>::min();
constexpr int64_t kLastNs = std::numeric_limits<int64_t>::max();

// Midnight of a day in ns since 2000; the first or last time for days that are farther away.
int64_t DayBeginNs(int32_t day) {
  constexpr int64_t kDaysMax = kLastNs / kNsPerDay;
  if (day < -kDaysMax) return kFirstNs;
  return day > kDaysMax ? kLastNs : day * kNsPerDay;
}

}  // namespace

std::string_view DbnSymbols::Keep(std::string_view symbol) {
  const auto found = names_.find(symbol);
  return found != names_.end() ? *found : *names_.emplace(symbol).first;
}

DbnSymbols::Known* DbnSymbols::Insert(uint32_t instrument) {
  last_begin_ns_ = last_end_ns_ = 0;
  const auto found = instruments_.find(instrument);
  if (found != instruments_.end()) return &found->second;
  if (instruments_.size() >= kInstrumentsMax) return nullptr;
  return &instruments_[instrument];
}

bool DbnSymbols::MapDays(uint32_t instrument, int32_t begin_day, int32_t end_day,
                         std::string_view symbol) {
  Known* const known = Insert(instrument);
  if (known == nullptr) return false;
  known->intervals.push_back({DayBeginNs(begin_day), DayBeginNs(end_day), Keep(symbol)});
  return true;
}

void DbnSymbols::SortDays() {
  for (auto& [instrument, known] : instruments_) {
    std::ranges::stable_sort(known.intervals, {}, &Interval::begin_ns);
  }
}

bool DbnSymbols::Map(uint32_t instrument, std::string_view symbol) {
  Known* const known = Insert(instrument);
  if (known != nullptr) known->mapped = Keep(symbol);
  return known != nullptr;
}

bool DbnSymbols::Define(uint32_t instrument, std::string_view symbol) {
  Known* const known = Insert(instrument);
  if (known != nullptr) known->defined = Keep(symbol);
  return known != nullptr;
}

std::string_view DbnSymbols::Search(uint32_t instrument, int64_t time_ns) {
  last_instrument_ = instrument;
  last_begin_ns_ = kFirstNs;
  last_end_ns_ = kLastNs;
  const auto found = instruments_.find(instrument);
  last_symbol_ = found == instruments_.end() ? NumberText(instrument)
                                             : Resolve(found->second, instrument, time_ns);
  return last_symbol_;
}

// Narrows the times of the last answer to those for which this one is right.
std::string_view DbnSymbols::Resolve(const Known& known, uint32_t instrument, int64_t time_ns) {
  if (!known.mapped.empty()) return known.mapped;
  const auto after = std::ranges::upper_bound(known.intervals, time_ns, {}, &Interval::begin_ns);
  if (after != known.intervals.end()) last_end_ns_ = after->begin_ns;
  if (after != known.intervals.begin()) {
    const Interval& interval = *(after - 1);
    if (time_ns < interval.end_ns) {
      last_begin_ns_ = interval.begin_ns;
      last_end_ns_ = std::min(last_end_ns_, interval.end_ns);
      return interval.symbol;
    }
    last_begin_ns_ = std::max(interval.begin_ns, interval.end_ns);
  }
  return known.defined.empty() ? NumberText(instrument) : known.defined;
}

std::string_view DbnSymbols::NumberText(uint32_t instrument) {
  const auto [end, error] =
      std::to_chars(number_.data(), number_.data() + number_.size(), instrument);
  return {number_.data(), end};
}

}  // namespace tickstack::feed::market
