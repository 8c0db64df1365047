#include "query/columns/name_copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "query/columns/elements.h"
#include "query/columns/parallel.h"

namespace tickstack::query {
namespace {

constexpr size_t kNamesPerTask = 65'536;

}  // namespace

void NumberedNames::Add(std::string_view name) {
  Name& added = names_.emplace_back();
  added.text.fill('\0');
  name.copy(added.text.data(), kShort);
  added.whole = name.data();
  added.bytes = name.size() + 1;
}

// Writes items to [begin, end) of `text` and nothing beyond, where another thread writes.
void NumberedNames::CopyTo(std::span<const uint32_t> numbers, size_t begin, char* text, size_t end,
                           size_t* ends) const {
  size_t at = begin;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Name& name = names_[numbers[i]];
    if (name.bytes <= kShort && at + kShort <= end) [[likely]] {
      std::memcpy(text + at, name.text.data(), kShort);
    } else {
      const char* const whole = name.bytes <= kShort ? name.text.data() : name.whole;
      std::memcpy(text + at, whole, name.bytes - 1);
      text[at + name.bytes - 1] = '\0';
    }
    at += name.bytes;
    ends[i] = at;
  }
}

absl::StatusOr<Value> NumberedNames::Copy(std::span<const uint32_t> numbers, Budget& budget) const {
  const size_t tasks = (numbers.size() + kNamesPerTask - 1) / kNamesPerTask;
  const auto of_task = [&](size_t task) {
    const size_t begin = task * kNamesPerTask;
    return numbers.subspan(begin, std::min(kNamesPerTask, numbers.size() - begin));
  };
  ScratchVector<size_t> begins(tasks + 1);
  TS_RETURN_IF_ERROR(ParallelTasks(budget, tasks, [&](size_t task) {
    size_t bytes = 0;
    for (uint32_t number : of_task(task)) bytes += names_[number].bytes;
    begins[task + 1] = bytes;
    return absl::OkStatus();
  }));
  std::inclusive_scan(begins.begin(), begins.end(), begins.begin());
  TS_RETURN_IF_ERROR(budget.Charge(numbers.size(), sizeof(size_t)));
  TS_RETURN_IF_ERROR(budget.Charge(begins.back()));
  ScratchString text(begins.back(), '\0');
  ScratchVector<size_t> ends(numbers.size());
  TS_RETURN_IF_ERROR(ParallelTasks(budget, tasks, [&](size_t task) {
    CopyTo(of_task(task), begins[task], text.data(), begins[task + 1],
           ends.data() + task * kNamesPerTask);
    return absl::OkStatus();
  }));
  return Value::Symbols(SymbolVector(std::move(text), std::move(ends)));
}

absl::StatusOr<Value> CopyNames(const Value& vector, std::span<const uint32_t> positions,
                                Budget& budget) {
  const SymbolVector& names = vector.symbols();
  // Returns early where a table of the names would not pay.
  if (positions.size() < 2 * names.size() || std::ranges::count(positions, kNoItem) > 0) {
    TS_RETURN_IF_ERROR(budget.Charge(positions.size(), sizeof(size_t) + 8));
    return TakeItems(vector, positions);
  }
  TS_RETURN_IF_ERROR(budget.Charge(names.size(), NumberedNames::kBytes));
  NumberedNames numbered;
  numbered.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) numbered.Add(names[i]);
  return numbered.Copy(positions, budget);
}

}  // namespace tickstack::query
