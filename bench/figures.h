#pragma once

// Figures of several runs, and what is printed of them.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tickstack::bench {

struct Spread {
  double lowest = 0, median = 0, highest = 0;
};

// Returns the spread of at least one value. The median of an even number of values is the higher
// one of the two in the middle.
inline Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

// Figures by name: one value for each round.
class Figures {
 public:
  void Add(const std::string& name, double value) { values_[name].push_back(value); }
  Spread Of(const std::string& name) const { return SpreadOf(values_.at(name)); }
  double Median(const std::string& name) const { return Of(name).median; }

  // Returns the spread of `combine(this value, base's value)` over the rounds: values of the same
  // round are compared, because the machine changes from one round to the next.
  template <typename F>
  Spread Against(const Figures& base, const std::string& name, F combine) const {
    const std::vector<double>& mine = values_.at(name);
    const std::vector<double>& others = base.values_.at(name);
    std::vector<double> combined;
    for (size_t i = 0; i < mine.size(); ++i) combined.push_back(combine(mine[i], others[i]));
    return SpreadOf(std::move(combined));
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace tickstack::bench
