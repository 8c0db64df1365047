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
    ByItem(Builtin{"=", 2, 2, true, Atomic<AtomicOp::kEqual>}),
    ByItem(Builtin{"<>", 2, 2, true, Atomic<AtomicOp::kNotEqual>}),
    ByItem(Builtin{"<", 2, 2, true, Atomic<AtomicOp::kLess>}),
    ByItem(Builtin{">", 2, 2, true, Atomic<AtomicOp::kGreaterThan>}),
    ByItem(Builtin{"<=", 2, 2, true, Atomic<AtomicOp::kLessOrEqual>}),
    ByItem(Builtin{">=", 2, 2, true, Atomic<AtomicOp::kGreaterOrEqual>}),
    Builtin{"~", 2, 2, true, MatchTerms},
    ByItem(Builtin{"&", 2, 2, true, Atomic<AtomicOp::kLesser>}),
    ByItem(Builtin{"|", 2, 2, true, Atomic<AtomicOp::kGreater>}),
    ByItem(Builtin{"and", 2, 2, true, Atomic<AtomicOp::kLesser>}),
    ByItem(Builtin{"or", 2, 2, true, Atomic<AtomicOp::kGreater>}),
    ByItem(Builtin{"not", 1, 1, false, Unary<NotFlags>}),
    ByItem(Builtin{"null", 1, 1, false, Unary<NullFlags>}),
    ByItem(Builtin{"^", 2, 2, true, Atomic<AtomicOp::kFill>, true}),
};

}  // namespace

std::span<const Builtin> LogicFunctions() { return kLogicTable; }

}  // namespace tickstack::query::builtins
