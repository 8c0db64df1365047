// Functions that work item by item, and searches.

#include <algorithm>
#include <array>

#include "query/kernels/atomic.h"
#include "query/kernels/casts.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/find_rows.h"
#include "query/kernels/numbers.h"
#include "query/kernels/search.h"
#include "query/kernels/texts.h"
#include "query/kernels/unary.h"
#include "query/language/builtins.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

template <AtomicOp op>
Result Atomic(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(ApplyAtomic(op, x, y, context.budget));
}

// A long on the left pads texts.
Result CastTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (x.is_atom_of(Type::kLong)) {
    TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
    return FromValue(Pad(x.as<int64_t>(), y, context.budget));
  }
  if (const auto* slice = std::get_if<Slice>(&args[1])) {
    return FromValue(Cast(x, *slice, context.budget));
  }
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  return FromValue(Cast(x, y, context.budget));
}

Result MatchTerms(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return Value::Boolean(Match(x, y));
}

// Of rows: whether they are among those of a table.
Result InTerm(Context& context, Args args) {
  if (!IsTableTerm(args[1])) {
    auto* const dict = std::get_if<Value>(&args[0]);
    if (dict == nullptr || !IsPlainDict(*dict)) return OfValues<In>(context, args);
    TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
    TS_ASSIGN_OR_RETURN(Value flags, In(dict->values(), y, context.budget));
    if (!IsSequence(flags) || flags.count() != dict->keys().count()) {
      return TypeError("a dictionary whose values are no items");
    }
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(dict->keys())));
    return Value::Dict(dict->keys(), std::move(flags));
  }
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (view.key_columns > 0) return TypeError("rows in a keyed table");
  TS_ASSIGN_OR_RETURN(const WantedRows rows, WantedRowsOf(x, view.columns.size(), context.budget));
  if (rows.columns.size() != view.columns.size()) {
    return LengthError("rows of {} columns in a table of {}", rows.columns.size(),
                       view.columns.size());
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> found,
                      FindRows(view, rows.columns, context.budget));
  TS_RETURN_IF_ERROR(context.budget.Charge(found.size()));
  VectorWriter<uint8_t> flags(Type::kBoolean, found.size());
  std::ranges::transform(found, flags.data(), [](uint32_t at) { return at != kNoItem; });
  const Value in = std::move(flags).Finish();
  return rows.one ? ItemAt(in, 0) : in;
}

constexpr std::array kOperatorTable = {
    Builtin{"+", 2, 2, true, Atomic<AtomicOp::kAdd>},
    Builtin{"-", 2, 2, true, Atomic<AtomicOp::kSubtract>},
    Builtin{"*", 2, 2, true, Atomic<AtomicOp::kMultiply>},
    Builtin{"%", 2, 2, true, Atomic<AtomicOp::kDivide>},
    Builtin{"&", 2, 2, true, Atomic<AtomicOp::kLesser>},
    Builtin{"|", 2, 2, true, Atomic<AtomicOp::kGreater>},
    Builtin{"=", 2, 2, true, Atomic<AtomicOp::kEqual>},
    Builtin{"<>", 2, 2, true, Atomic<AtomicOp::kNotEqual>},
    Builtin{"<", 2, 2, true, Atomic<AtomicOp::kLess>},
    Builtin{">", 2, 2, true, Atomic<AtomicOp::kGreaterThan>},
    Builtin{"<=", 2, 2, true, Atomic<AtomicOp::kLessOrEqual>},
    Builtin{">=", 2, 2, true, Atomic<AtomicOp::kGreaterOrEqual>},
    Builtin{"~", 2, 2, true, MatchTerms},
    Builtin{"$", 2, 2, true, CastTerm, true},
    Builtin{"and", 2, 2, true, Atomic<AtomicOp::kLesser>},
    Builtin{"or", 2, 2, true, Atomic<AtomicOp::kGreater>},
    Builtin{"div", 2, 2, true, Atomic<AtomicOp::kFloorDivide>},
    Builtin{"mod", 2, 2, true, Atomic<AtomicOp::kModulo>},
    Builtin{"xbar", 2, 2, true, Atomic<AtomicOp::kRoundDown>, true},
    Builtin{"xexp", 2, 2, true, Atomic<AtomicOp::kPower>},
    Builtin{"xlog", 2, 2, true, Atomic<AtomicOp::kLogarithm>},
    Builtin{"^", 2, 2, true, Atomic<AtomicOp::kFill>, true},
    Builtin{"in", 2, 2, true, InTerm},
    Builtin{"within", 2, 2, true, OfValues<Within>},
    Builtin{"like", 2, 2, true, OfValues<Like>},
    Builtin{"not", 1, 1, false, OfValue<NotFlags>},
    Builtin{"null", 1, 1, false, OfValue<NullFlags>},
    Builtin{"neg", 1, 1, false, OfValue<Negate>},
    Builtin{"abs", 1, 1, false, OfValue<Absolute>},
    Builtin{"floor", 1, 1, false, OfValue<Floor>},
    Builtin{"ceiling", 1, 1, false, OfValue<Ceiling>},
    Builtin{"signum", 1, 1, false, OfValue<Signum>},
    Builtin{"sqrt", 1, 1, false, OfValue<SquareRoot>},
    Builtin{"exp", 1, 1, false, OfValue<Exponential>},
    Builtin{"log", 1, 1, false, OfValue<NaturalLogarithm>},
    Builtin{"reciprocal", 1, 1, false, OfValue<Reciprocal>},
    Builtin{"sin", 1, 1, false, OfValue<Sine>},
    Builtin{"cos", 1, 1, false, OfValue<Cosine>},
    Builtin{"tan", 1, 1, false, OfValue<Tangent>},
    Builtin{"asin", 1, 1, false, OfValue<ArcSine>},
    Builtin{"acos", 1, 1, false, OfValue<ArcCosine>},
    Builtin{"atan", 1, 1, false, OfValue<ArcTangent>},
};

}  // namespace

std::span<const Builtin> Operators() { return kOperatorTable; }

}  // namespace tickstack::query::builtins
