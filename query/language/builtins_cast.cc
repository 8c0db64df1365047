// The cast `$`, and `sv` and `vs`, which combine a vector into a scalar and back.

#include <array>
#include <string_view>
#include <vector>

#include "query/kernels/casts.h"
#include "query/kernels/digits.h"
#include "query/kernels/matrix.h"
#include "query/kernels/splits.h"
#include "query/kernels/texts.h"
#include "query/language/builtins.h"

namespace tickstack::query::builtins {
namespace {

// Returns whether x$y would enumerate y: x is no type, and y are names or x is a variable.
bool Enumerates(Context& context, const Value& x, const Term& y) {
  if (!x.is_atom_of(Type::kSymbol) || x.symbol().empty() || FindCastTarget(x.symbol())) {
    return false;
  }
  const auto* const slice = std::get_if<Slice>(&y);
  const auto* const value = std::get_if<Value>(&y);
  const bool names = slice != nullptr ? slice->type() == Type::kSymbol
                                      : value != nullptr && value->type() == Type::kSymbol;
  return names || context.variables.Has(x.symbol());
}

// Casts; with a long on the left, pads texts; with floats on the left, multiplies matrices.
Result CastTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (Enumerates(context, x, args[1])) {
    return NyiError(fmt::format("`{}$, an enumeration", x.symbol()));
  }
  if (x.is_atom_of(Type::kLong)) {
    TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
    return FromValue(Pad(x.as<int64_t>(), y, context.budget));
  }
  if (IsFloatMatrix(x)) {
    TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
    return FromValue(MatrixProduct(x, y, context.budget));
  }
  if (const auto* slice = std::get_if<Slice>(&args[1])) {
    return FromValue(Cast(x, *slice, context.budget));
  }
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  return FromValue(Cast(x, y, context.budget));
}

bool IsNullSymbol(const Value& value) {
  return value.is_atom_of(Type::kSymbol) && value.symbol().empty();
}

// Splits bytes at a separator, as texts are split.
Result SplitBytes(const Value& separator, const Value& bytes, Budget& budget) {
  TS_ASSIGN_OR_RETURN(Value parts,
                      SplitText(AsText(separator.elements()), AsText(bytes.elements()), budget));
  TS_RETURN_IF_ERROR(budget.Charge(bytes.count()));
  std::vector<Value> items;
  for (const Value& part : parts.items()) {
    items.push_back(Value::Vector(Type::kByte, ByteBuffer(part.elements())));
  }
  return Value::List(std::move(items));
}

Result JoinBytes(const Value& separator, const Value& parts, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(2 * ApproximateBytes(parts)));
  std::vector<Value> texts;
  for (const Value& part : parts.items()) {
    if (!part.is(Type::kByte)) return TypeError("a {} among bytes", NameOf(part.type()));
    texts.push_back(Value::String(AsText(part.elements())));
  }
  TS_ASSIGN_OR_RETURN(const Value joined, JoinTexts(AsText(separator.elements()),
                                                    Value::List(std::move(texts)), budget));
  return Value::Vector(Type::kByte, ByteBuffer(joined.elements()));
}

// Splits y in the way that the left side asks for: a text, the null symbol, 0x0, 0b or numbers.
Result VectorFromScalar(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (x.type() == Type::kChar) {
    if (y.is(Type::kByte)) return FromValue(SplitText(x.text(), AsText(y.elements()), budget));
    if (y.type() != Type::kChar) return TypeError("vs of a {}", NameOf(y.type()));
    return FromValue(SplitText(x.text(), y.text(), budget));
  }
  if (IsNullSymbol(x)) {
    if (y.type() == Type::kChar) return FromValue(SplitLines(y.text(), budget));
    if (y.is_atom_of(Type::kSymbol)) return FromValue(SplitName(y.symbol(), budget));
    return TypeError("` vs a {}", NameOf(y.type()));
  }
  if (x.type() == Type::kByte && y.is(Type::kByte)) return SplitBytes(x, y, budget);
  if (x.is_atom_of(Type::kByte)) {
    if (x.as<uint8_t>() != 0) return NyiError("vs by a byte that is not 0x0");
    return FromValue(BytesOfAtom(y));
  }
  if (x.is_atom_of(Type::kBoolean)) return FromValue(BitsOfAtom(y));
  return FromValue(DigitsOf(x, y, budget));
}

Result ScalarFromVector(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (x.type() == Type::kChar) return FromValue(JoinTexts(x.text(), y, budget));
  if (IsNullSymbol(x)) {
    return FromValue(y.is(Type::kSymbol) ? JoinNames(y, budget) : JoinLines(y, budget));
  }
  if (x.type() == Type::kByte && y.is_list()) return JoinBytes(x, y, budget);
  if (x.is_atom_of(Type::kByte)) {
    if (x.as<uint8_t>() != 0) return NyiError("sv by a byte that is not 0x0");
    return FromValue(AtomOfBytes(y));
  }
  if (x.is_atom_of(Type::kBoolean)) return FromValue(AtomOfBits(y));
  return FromValue(NumberOfDigits(x, y, budget));
}

constexpr std::array kCastTable = {
    With(Builtin::kPure, Builtin{"$", 2, 2, true, CastTerm, true}),
    Builtin{"vs", 2, 2, true, VectorFromScalar, true},
    Builtin{"sv", 2, 2, true, ScalarFromVector, true},
};

}  // namespace

std::span<const Builtin> CastFunctions() { return kCastTable; }

}  // namespace tickstack::query::builtins
