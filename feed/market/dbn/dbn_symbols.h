#pragma once

// The symbols of a DBN file's instruments, which its records name by number.
//
// The file's header maps numbers to symbols by day. In recordings of live data, a record maps a
// number from there on, which precedes the header. A definition gives the exchange's symbol of
// instruments that neither maps. Without all of these, the symbol is the number as a text.

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: some 200 bytes for each instrument and 32 for each interval.
class DbnSymbols {
 public:
  static constexpr size_t kInstrumentsMax = size_t{1} << 22;

  // Maps an instrument from `begin_day` to before `end_day`, in days since 2000. If intervals
  // overlap, the one that begins later applies; of those that begin together, the last one added.
  // False: there are too many instruments. Takes effect with SortDays().
  bool MapDays(uint32_t instrument, int32_t begin_day, int32_t end_day, std::string_view symbol);
  void SortDays();
  // Maps an instrument for all times. False: there are too many instruments.
  bool Map(uint32_t instrument, std::string_view symbol);
  // Gives the symbol of an instrument that is not mapped. False: there are too many instruments.
  bool Define(uint32_t instrument, std::string_view symbol);

  // Returns the symbol of an instrument at a time in ns since 2000. Valid until the next call.
  // Cost: 2 ns if the instrument is that of the last call, else a search in a hash table.
  std::string_view Find(uint32_t instrument, int64_t time_ns) {
    const bool is_last =
        instrument == last_instrument_ && time_ns >= last_begin_ns_ && time_ns < last_end_ns_;
    return is_last ? last_symbol_ : Search(instrument, time_ns);
  }

 private:
  struct Interval {
    int64_t begin_ns, end_ns;
    std::string_view symbol;
  };
  struct Known {
    std::string_view mapped, defined;
    std::vector<Interval> intervals;  // By begin, after SortDays().
  };

  Known* Insert(uint32_t instrument);
  std::string_view Keep(std::string_view symbol);
  std::string_view Search(uint32_t instrument, int64_t time_ns);
  std::string_view Resolve(const Known& known, uint32_t instrument, int64_t time_ns);
  std::string_view NumberText(uint32_t instrument);

  absl::flat_hash_map<uint32_t, Known> instruments_;
  std::set<std::string, std::less<>> names_;  // Each symbol once, at an address that stays.
  std::array<char, 10> number_{};
  // The last answer, and the times for which it is right.
  uint32_t last_instrument_ = 0;
  int64_t last_begin_ns_ = 0, last_end_ns_ = 0;
  std::string_view last_symbol_;
};

}  // namespace tickstack::feed::market
