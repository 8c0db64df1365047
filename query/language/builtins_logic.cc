// Comparison and logic, item by item, and functions of nulls.

#include <array>

#include "query/kernels/atomic.h"
#include "query/kernels/unary.h"
#include "query/language/builtins.h"

namespace tickstack::query::builtins {
namespace {

Result MatchTerms(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return Value::Boolean(Match(x, y));
}

constexpr std::array kLogicTable = {
    With(Builtin::kPure, ByItem(Builtin{"=", 2, 2, true, Atomic<Comparison::kEqual>})),
    With(Builtin::kPure, ByItem(Builtin{"<>", 2, 2, true, Atomic<Comparison::kNotEqual>})),
    With(Builtin::kPure, ByItem(Builtin{"<", 2, 2, true, Atomic<Comparison::kLess>})),
    With(Builtin::kPure, ByItem(Builtin{">", 2, 2, true, Atomic<Comparison::kGreaterThan>})),
    With(Builtin::kPure, ByItem(Builtin{"<=", 2, 2, true, Atomic<Comparison::kLessOrEqual>})),
    With(Builtin::kPure, ByItem(Builtin{">=", 2, 2, true, Atomic<Comparison::kGreaterOrEqual>})),
    With(Builtin::kPure, Builtin{"~", 2, 2, true, MatchTerms, true}),
    With(Builtin::kPure, ByItem(Builtin{"&", 2, 2, true, Atomic<Arithmetic::kLesser>})),
    With(Builtin::kPure, ByItem(Builtin{"|", 2, 2, true, Atomic<Arithmetic::kGreater>})),
    With(Builtin::kPure, ByItem(Builtin{"and", 2, 2, true, Atomic<Arithmetic::kLesser>})),
    With(Builtin::kPure, ByItem(Builtin{"or", 2, 2, true, Atomic<Arithmetic::kGreater>})),
    With(Builtin::kPure, ByItem(Builtin{"not", 1, 1, false, Unary<NotFlags>})),
    With(Builtin::kPure, ByItem(Builtin{"null", 1, 1, false, Unary<NullFlags>})),
    With(Builtin::kPure, ByItem(Builtin{"^", 2, 2, true, Atomic<Arithmetic::kFill>, true})),
};

}  // namespace

std::span<const Builtin> LogicFunctions() { return kLogicTable; }

}  // namespace tickstack::query::builtins
