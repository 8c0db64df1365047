#include "query/grouping/aggregate_runner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "query/columns/gather.h"
#include "query/columns/parallel.h"
#include "query/kernels/number_kernels.h"
#include "query/language/evaluator.h"

namespace tickstack::query {
namespace {

using SharedRows = std::shared_ptr<const RowSet>;

// With up to this many groups, each kRowsPerPart rows have their own accumulators. The cuts are the
// same on every machine, and therefore sums of floats are the same too.
constexpr uint32_t kSlotsForParts = 65'536;
constexpr size_t kRowsPerPart = size_t{1} << 22;

// Groups with more rows than this are added up in parts by several threads.
constexpr size_t kRowsPerGroupPart = size_t{1} << 19;

// Rows for which an expression is evaluated at a time.
constexpr size_t kRowsPerBlock = 65'536;

// Rows that are filtered at a time, and added up while they are in the second-level cache. Like the
// parts above, the tasks are the same on every machine.
constexpr size_t kRowsPerFilterBlock = 8'192;
constexpr size_t kRowsPerFilterTask = size_t{1} << 18;

bool IsEnd(AggregateKind kind) {
  return kind == AggregateKind::kFirst || kind == AggregateKind::kLast;
}

// Returns whether two expressions are written in the same way.
bool IsSame(const Node& x, const Node& y) {
  if (&x == &y) return true;
  if (x.kind != y.kind || x.children.size() != y.children.size()) return false;
  switch (x.kind) {
    case Node::Kind::kConstant:
      return x.value == y.value;
    case Node::Kind::kName:
      return x.name == y.name;
    case Node::Kind::kFunction:
      return x.function == y.function;
    case Node::Kind::kApply:
      return std::ranges::equal(x.children, y.children, [](const NodePtr& a, const NodePtr& b) {
        return a == nullptr || b == nullptr ? a == b : IsSame(*a, *b);
      });
    case Node::Kind::kClosure:
    case Node::Kind::kDerived:
    case Node::Kind::kList:
    case Node::Kind::kTable:
    case Node::Kind::kCond:
    case Node::Kind::kBlock:
    case Node::Kind::kIf:
    case Node::Kind::kDo:
    case Node::Kind::kWhile:
    case Node::Kind::kAssign:
    case Node::Kind::kView:
    case Node::Kind::kReturn:
    case Node::Kind::kSignal:
    case Node::Kind::kQuery:
      break;
  }
  return false;
}

}  // namespace

ScratchVector<uint32_t> RowsAtPositions(const RowSet& rows, const Value& positions) {
  ScratchVector<uint32_t> at(positions.count());
  const std::span<const int64_t> position = positions.span<int64_t>();
  if (rows.is_range()) {
    std::ranges::transform(position, at.begin(), [&](int64_t p) {
      return static_cast<uint32_t>(rows.begin_row() + static_cast<size_t>(p));
    });
  } else {
    const ScratchVector<uint32_t> numbers = rows.ToVector();
    std::ranges::transform(position, at.begin(),
                           [&](int64_t p) { return numbers[static_cast<size_t>(p)]; });
  }
  return at;
}

absl::StatusOr<Term> AggregateRunner::EvaluateAt(const Node& node, const SharedRows& rows) {
  const Scope scope{scope_.view, rows};
  Context inner = context_.Inside(scope);
  return EvaluateNode(inner, node);
}

bool AggregateRunner::IsPlain(const AggregateCall& call) const {
  const auto plain = [this](const Node* node) {
    return node == nullptr || IsPlainColumn(*node, *scope_.view);
  };
  // Counts and ends need no items here.
  return call.kind == AggregateKind::kCount || (plain(call.weights) && plain(call.values));
}

std::unique_ptr<GroupAccumulator> AggregateRunner::Make(size_t call, uint32_t slots) const {
  const auto type = [](const std::optional<Slice>& slice) {
    return slice.has_value() ? slice->type() : Type::kList;
  };
  return MakeAccumulator(calls_[call].kind, type(inputs_[call].weights), type(inputs_[call].values),
                         slots);
}

absl::Status AggregateRunner::FindInputs(size_t call) {
  const auto find = [&](const Node* node, std::optional<Slice>& slice) -> absl::Status {
    if (node == nullptr || calls_[call].kind == AggregateKind::kCount) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*node, scope_.rows));
    slice = std::get<Slice>(std::move(term));
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(find(calls_[call].values, inputs_[call].values));
  return find(calls_[call].weights, inputs_[call].weights);
}

absl::Status AggregateRunner::FromEnds(size_t call, const GroupEnds& ends) {
  if (calls_[call].kind == AggregateKind::kCount) {
    TS_RETURN_IF_ERROR(budget_.Charge(ends.rows.size(), sizeof(int64_t)));
    results_[call] = Value::Vector(Type::kLong, std::span<const int64_t>(ends.rows));
    return absl::OkStatus();
  }
  const bool first = calls_[call].kind == AggregateKind::kFirst;
  TS_ASSIGN_OR_RETURN(
      results_[call],
      GatherRows(inputs_[call].values->column, first ? ends.first_rows : ends.last_rows, budget_));
  return absl::OkStatus();
}

// Aggregates whole columns, with a task for each call and, if groups are few, for each part of the
// rows.
absl::Status AggregateRunner::ByNumbers(std::span<const size_t> plain,
                                        const GroupNumbers& numbers) {
  const size_t rows = numbers.of_row.size();
  const size_t parts = numbers.slots > kSlotsForParts
                           ? 1
                           : std::max<size_t>(1, (rows + kRowsPerPart - 1) / kRowsPerPart);
  TS_RETURN_IF_ERROR(
      budget_.Charge(plain.size() * (parts * numbers.slots + groups_.count()), kAccumulatorBytes));
  std::vector<std::unique_ptr<GroupAccumulator>> accumulators(plain.size() * parts);
  TS_RETURN_IF_ERROR(ParallelTasks(budget_, accumulators.size(), [&](size_t task) -> absl::Status {
    const size_t call = plain[task / parts], begin = task % parts * kRowsPerPart;
    const size_t n = parts == 1 ? rows : std::min(kRowsPerPart, rows - begin);
    accumulators[task] = Make(call, numbers.slots);
    if (accumulators[task] == nullptr) return absl::OkStatus();
    AggregateInput input = inputs_[call];
    if (parts > 1) {
      const auto of_part = std::make_shared<const RowSet>(scope_.rows->Slice(begin, n));
      if (input.values.has_value()) input.values->rows = of_part;
      if (input.weights.has_value()) input.weights->rows = of_part;
    }
    return accumulators[task]->AddRows(begin, std::span(numbers.of_row).subspan(begin, n), input,
                                       budget_);
  }));
  return ParallelTasks(budget_, plain.size(), [&](size_t i) {
    GroupAccumulator* const first = accumulators[i * parts].get();
    if (first == nullptr) return absl::OkStatus();
    for (size_t part = 1; part < parts; ++part) first->Merge(*accumulators[i * parts + part]);
    results_[plain[i]] = first->Finish(numbers.order);
    return absl::OkStatus();
  });
}

// Evaluates the arguments of calls at some rows, and those that several calls share only once.
// `calls` keeps the ones whose arguments are vectors; the others are evaluated group by group, see
// grouped.cc.
absl::Status AggregateRunner::EvaluateBlock(std::vector<size_t>& calls, const SharedRows& rows) {
  struct Evaluated {
    const Node* node;
    std::optional<Slice> slice;  // nullopt if the result is not a vector.
  };
  std::vector<Evaluated> known;
  const auto evaluate = [&](const Node* node, std::optional<Slice>& slice) -> absl::StatusOr<bool> {
    slice.reset();
    if (node == nullptr) return true;
    auto found =
        std::ranges::find_if(known, [&](const Evaluated& at) { return IsSame(*at.node, *node); });
    if (found == known.end()) {
      TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*node, rows));
      Evaluated evaluated{node, std::nullopt};
      if (auto* whole = std::get_if<Slice>(&term)) {
        evaluated.slice = std::move(*whole);
      } else if (auto* value = std::get_if<Value>(&term); value != nullptr && value->is_vector()) {
        evaluated.slice = Slice::Of(std::move(*value));
      }
      if (evaluated.slice.has_value() && evaluated.slice->count() != rows->count()) {
        evaluated.slice.reset();
      }
      found = known.insert(known.end(), std::move(evaluated));
    }
    slice = found->slice;
    return slice.has_value();
  };
  std::vector<size_t> usable;
  for (const size_t call : calls) {
    TS_ASSIGN_OR_RETURN(const bool values, evaluate(calls_[call].values, inputs_[call].values));
    TS_ASSIGN_OR_RETURN(const bool weights, evaluate(calls_[call].weights, inputs_[call].weights));
    if (values && weights) usable.push_back(call);
  }
  calls = std::move(usable);
  return absl::OkStatus();
}

// Makes the missing accumulators of calls; `calls` keeps those that have one then.
void AggregateRunner::MakeMissing(std::vector<size_t>& calls, uint32_t slots,
                                  Accumulators& accumulators) const {
  std::erase_if(calls, [&](size_t call) {
    if (accumulators[call] == nullptr) accumulators[call] = Make(call, slots);
    return accumulators[call] == nullptr;
  });
}

// Evaluates expressions for a block of rows at a time, so that their temporaries stay small; then
// the calls' accumulators take in the block in parallel.
absl::Status AggregateRunner::ByBlocks(std::vector<size_t> calls, const GroupNumbers& numbers) {
  TS_RETURN_IF_ERROR(
      budget_.Charge(calls.size() * (numbers.slots + groups_.count()), kAccumulatorBytes));
  Accumulators accumulators(calls_.size());
  const size_t rows = numbers.of_row.size();
  for (size_t at = 0; at < rows && !calls.empty(); at += kRowsPerBlock) {
    const Budget::Temporaries temporaries(budget_);
    const auto of_block = std::make_shared<const RowSet>(scope_.rows->Slice(at, kRowsPerBlock));
    TS_RETURN_IF_ERROR(EvaluateBlock(calls, of_block));
    MakeMissing(calls, numbers.slots, accumulators);
    TS_RETURN_IF_ERROR(ParallelTasks(budget_, calls.size(), [&](size_t i) {
      return accumulators[calls[i]]->AddRows(
          at, std::span(numbers.of_row).subspan(at, of_block->count()), inputs_[calls[i]], budget_);
    }));
  }
  for (const size_t call : calls) {
    if (accumulators[call] != nullptr) results_[call] = accumulators[call]->Finish(numbers.order);
  }
  return absl::OkStatus();
}

// Does the same group by group.
absl::Status AggregateRunner::BlocksByGroup(std::vector<size_t> calls) {
  const auto groups = static_cast<uint32_t>(groups_.count());
  TS_RETURN_IF_ERROR(budget_.Charge(calls.size() * 2 * groups, kAccumulatorBytes));
  Accumulators accumulators(calls_.size());
  for (uint32_t group = 0; group < groups; ++group) {
    const SharedRows rows = groups_.RowsOf(group);
    for (size_t at = 0; at < rows->count() && !calls.empty(); at += kRowsPerBlock) {
      const Budget::Temporaries temporaries(budget_);
      TS_RETURN_IF_ERROR(
          EvaluateBlock(calls, std::make_shared<const RowSet>(rows->Slice(at, kRowsPerBlock))));
      MakeMissing(calls, groups, accumulators);
      const auto add = [&](size_t i) {
        return accumulators[calls[i]]->AddGroup(group, inputs_[calls[i]], budget_);
      };
      // Runs small blocks on one thread: they are not worth waking others.
      if (rows->count() - at >= kRowsPerBlock / 4) {
        TS_RETURN_IF_ERROR(ParallelTasks(budget_, calls.size(), add));
        continue;
      }
      for (size_t i = 0; i < calls.size(); ++i) TS_RETURN_IF_ERROR(add(i));
    }
  }
  ScratchVector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0u);
  for (const size_t call : calls) {
    if (accumulators[call] != nullptr) results_[call] = accumulators[call]->Finish(order);
  }
  return absl::OkStatus();
}

// Aggregates groups whose rows are known, with a task for several of them or for a part of a large
// one.
absl::Status AggregateRunner::ByGroup(std::span<const size_t> plain) {
  struct Part {
    uint32_t group;
    size_t begin, rows;
  };
  TS_RETURN_IF_ERROR(groups_.PrepareRows(budget_));
  std::vector<Part> parts;
  ScratchVector<uint32_t> order;  // The first part of each group comes first.
  for (uint32_t group = 0; group < groups_.count(); ++group) {
    order.push_back(static_cast<uint32_t>(parts.size()));
    const size_t rows = groups_.ends() != nullptr ? static_cast<size_t>(groups_.ends()->rows[group])
                                                  : groups_.RowsOf(group)->count();
    for (size_t begin = 0; begin < rows; begin += kRowsPerGroupPart) {
      parts.push_back({group, begin, std::min(kRowsPerGroupPart, rows - begin)});
    }
  }
  TS_RETURN_IF_ERROR(budget_.Charge(parts.size(), sizeof(Part) + sizeof(uint32_t)));
  TS_RETURN_IF_ERROR(
      budget_.Charge(plain.size() * (parts.size() + groups_.count()), kAccumulatorBytes));
  std::vector<std::unique_ptr<GroupAccumulator>> accumulators;
  for (size_t call : plain) accumulators.push_back(Make(call, static_cast<uint32_t>(parts.size())));
  const auto add = [&](size_t number) -> absl::Status {
    const Part& part = parts[number];
    SharedRows rows = groups_.RowsOf(part.group);
    if (part.rows != rows->count()) {
      rows = std::make_shared<const RowSet>(rows->Slice(part.begin, part.rows));
    }
    for (size_t i = 0; i < plain.size(); ++i) {
      if (accumulators[i] == nullptr) continue;
      AggregateInput input = inputs_[plain[i]];
      if (input.values.has_value()) input.values->rows = rows;
      if (input.weights.has_value()) input.weights->rows = rows;
      TS_RETURN_IF_ERROR(accumulators[i]->AddGroup(static_cast<uint32_t>(number), input, budget_));
    }
    return absl::OkStatus();
  };
  // A few parts may be large ones.
  constexpr size_t kFewParts = 256, kPartsPerTask = 8;
  const size_t step = parts.size() < kFewParts ? 1 : kPartsPerTask;
  const auto add_range = [&](size_t begin, size_t end) -> absl::Status {
    for (size_t number = begin; number < end; ++number) TS_RETURN_IF_ERROR(add(number));
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(ParallelRanges(budget_, parts.size(), step, add_range));
  for (size_t i = 0; i < plain.size(); ++i) {
    if (accumulators[i] == nullptr) continue;
    for (uint32_t number = 0; number < parts.size(); ++number) {
      const uint32_t first = order[parts[number].group];
      if (number != first) accumulators[i]->Join(first, number);
    }
    results_[plain[i]] = accumulators[i]->Finish(order);
  }
  return absl::OkStatus();
}

// Filters and adds up in one pass: the rows that pass are added up while their block is in the
// cache.
absl::StatusOr<bool> AggregateRunner::RunFiltered(const RangeFilter& filter) {
  for (size_t call = 0; call < calls_.size(); ++call) {
    if (!IsPlain(calls_[call]) || IsEnd(calls_[call].kind)) return false;
    TS_RETURN_IF_ERROR(FindInputs(call));
  }
  const size_t begin_row = scope_.rows->begin_row(), rows = scope_.rows->count();
  const size_t tasks = (rows + kRowsPerFilterTask - 1) / kRowsPerFilterTask;
  TS_RETURN_IF_ERROR(budget_.Charge(tasks * (calls_.size() * kAccumulatorBytes + sizeof(int64_t))));
  std::vector<std::unique_ptr<GroupAccumulator>> accumulators(calls_.size());
  for (size_t call = 0; call < calls_.size(); ++call) {
    if (calls_[call].kind == AggregateKind::kCount) continue;
    accumulators[call] = Make(call, static_cast<uint32_t>(tasks));
    if (accumulators[call] == nullptr) return false;
  }
  std::vector<int64_t> counts(tasks);
  const auto run = [&](size_t task) -> absl::Status {
    ScratchVector<uint32_t> kept(kRowsPerFilterBlock + kSelectSlack);
    const size_t end = std::min(rows, (task + 1) * kRowsPerFilterTask);
    int64_t count = 0;
    for (size_t at = task * kRowsPerFilterTask; at < end; at += kRowsPerFilterBlock) {
      TS_ASSIGN_OR_RETURN(
          const size_t n,
          filter.Select(begin_row + at, std::min(kRowsPerFilterBlock, end - at), kept));
      count += static_cast<int64_t>(n);
      const bool all = n == std::min(kRowsPerFilterBlock, end - at);
      const auto left = std::make_shared<const RowSet>(
          all ? RowSet::Range(begin_row + at, begin_row + at + n)
              : RowSet::Borrow(std::span<const uint32_t>(kept).first(n), nullptr));
      for (size_t call = 0; n > 0 && call < calls_.size(); ++call) {
        if (accumulators[call] == nullptr) continue;
        AggregateInput input = inputs_[call];
        if (input.values.has_value()) input.values->rows = left;
        if (input.weights.has_value()) input.weights->rows = left;
        TS_RETURN_IF_ERROR(
            accumulators[call]->AddGroup(static_cast<uint32_t>(task), input, budget_));
      }
    }
    counts[task] = count;
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(ParallelTasks(budget_, tasks, run));
  const int64_t count = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (size_t call = 0; call < calls_.size(); ++call) {
    if (accumulators[call] == nullptr) {
      results_[call] = Value::Vector(Type::kLong, std::span(&count, 1));
      continue;
    }
    for (uint32_t task = 1; task < tasks; ++task) accumulators[call]->Join(0, task);
    const uint32_t only = 0;
    results_[call] = accumulators[call]->Finish(std::span(&only, 1));
  }
  return count > 0;
}

// Replaces the positions of the ends by their items.
absl::Status AggregateRunner::GatherEnds() {
  for (size_t call = 0; call < calls_.size(); ++call) {
    if (!IsEnd(calls_[call].kind) || !results_[call].has_value()) continue;
    TS_RETURN_IF_ERROR(budget_.Charge(groups_.count(), sizeof(uint32_t)));
    if (!scope_.rows->is_range()) {
      TS_RETURN_IF_ERROR(budget_.Charge(scope_.rows->count(), sizeof(uint32_t)));
    }
    const ScratchVector<uint32_t> rows = RowsAtPositions(*scope_.rows, *results_[call]);
    TS_ASSIGN_OR_RETURN(results_[call], GatherRows(inputs_[call].values->column, rows, budget_));
  }
  return absl::OkStatus();
}

absl::Status AggregateRunner::Run() {
  std::vector<size_t> plain, expressions;
  for (size_t call = 0; call < calls_.size(); ++call) {
    if (!IsPlain(calls_[call])) {
      expressions.push_back(call);
      continue;
    }
    TS_RETURN_IF_ERROR(FindInputs(call));
    const bool by_ends = calls_[call].kind == AggregateKind::kCount || IsEnd(calls_[call].kind);
    if (by_ends && groups_.ends() != nullptr) {
      TS_RETURN_IF_ERROR(FromEnds(call, *groups_.ends()));
    } else {
      plain.push_back(call);
    }
  }
  if (plain.empty() && expressions.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const GroupNumbers* numbers, groups_.Numbers(budget_));
  if (numbers == nullptr) {
    TS_RETURN_IF_ERROR(ByGroup(plain));
    return BlocksByGroup(std::move(expressions));
  }
  TS_RETURN_IF_ERROR(ByNumbers(plain, *numbers));
  TS_RETURN_IF_ERROR(ByBlocks(std::move(expressions), *numbers));
  return groups_.ends() == nullptr ? GatherEnds() : absl::OkStatus();
}

}  // namespace tickstack::query
