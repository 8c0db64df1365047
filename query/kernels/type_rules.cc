#include "query/kernels/type_rules.h"

#include <string_view>

#include "base/check.h"
#include "base/time.h"

namespace tickstack::query {
namespace {

// Rows are the left type and columns the right one, both in this order; a dot is the error `type`.
constexpr std::string_view kOrder = "bgxhijefcspmdznuvt";

using Rules = std::string_view[18];

constexpr Rules kAddRules = {
    "i.iiijef..pmdznuvt",   // b
    "..................",   // g
    "i.iiijef..pmdznuvt",   // x
    "i.iiijef..pmdznuvt",   // h
    "i.iiijef..pmdznuvt",   // i
    "j.jjjjef..pmdznuvt",   // j
    "e.eeeeef..pmdznuvt",   // e
    "f.fffffff.ffzzffff",   // f
    ".......f..pmdznuvt",   // c
    "..................",   // s
    "p.pppppfp.n...pppp",   // p
    "m.mmmmmfm..i..pppp",   // m
    "d.dddddzd...i.pppp",   // d
    "z.zzzzzzz....fpzzz",   // z
    "n.nnnnnfn.ppppnnnn",   // n
    "u.uuuuufu.pppznuvt",   // u
    "v.vvvvvfv.pppznvvt",   // v
    "t.tttttft.pppzntttt",  // t
};

constexpr Rules kMultiplyRules = {
    "i.iiijef..pmdznuvt", "..................", "i.iiijef..pmdznuvt", "i.iiijef..pmdznuvt",
    "i.iiijef..pmdznuvt", "j.jjjjef..pmdznuvt", "e.eeeeef..pmdznuvt", "f.fffffff.ffzzffff",
    ".......f..pmdznuvt", "..................", "p.pppppfp.........", "m.mmmmmfm.........",
    "d.dddddzd.........", "z.zzzzzzz.........", "n.nnnnnfn.........", "u.uuuuufu.........",
    "v.vvvvvfv.........", "t.tttttft.........",
};

constexpr Rules kLesserRules = {
    "b.xhijefc.pmdznuvt", "..................", "x.xhijefc.pmdznuvt", "h.hhijefc.pmdznuvt",
    "i.iiijefc.pmdznuvt", "j.jjjjefc.pmdznuvt", "e.eeeeefc.pmdznuvt", "f.ffffffc.pmdznuvt",
    "c.ccccccc.pmdznuvt", "..................", "p.ppppppp.ppppnuvt", "m.mmmmmmm.pmd.....",
    "d.ddddddd.pddz....", "z.zzzzzzz.p.zznuvt", "n.nnnnnnn.n..nnnnn", "u.uuuuuuu.u..unuvt",
    "v.vvvvvvv.v..vnvvt", "t.ttttttt.t..tnttt",
};

constexpr Rules kCompareRules = {
    "b.bbbbbbb.bbbbbbbb", ".b................", "b.bbbbbbb.bbbbbbbb", "b.bbbbbbb.bbbbbbbb",
    "b.bbbbbbb.bbbbbbbb", "b.bbbbbbb.bbbbbbbb", "b.bbbbbbb.bbbbbbbb", "b.bbbbbbb.bbbbbbbb",
    "b.bbbbbbb.bbbbbbbb", ".........b........", "b.bbbbbbb.bbbbbbbb", "b.bbbbbbb.bbb.....",
    "b.bbbbbbb.bbbb....", "b.bbbbbbb.b.bbbbbb", "b.bbbbbbb.b..bbbbb", "b.bbbbbbb.b..bbbbb",
    "b.bbbbbbb.b..bbbbb", "b.bbbbbbb.b..bbbbb",
};

constexpr Rules kModuloRules = {
    "i.iiijef..pmdznuvt", "..................", "i.iiijef..pmdznuvt", "i.iiijef..pmdznuvt",
    "i.iiijef..pmdznuvt", "j.jjjjef..pmdznuvt", "f.fffffff.ffzzffff", "f.fffffff.ffzzffff",
    ".......f..pmdznuvt", "..................", "n.nnnnnfn.........", "i.iiiiifi.........",
    "i.iiiii.i.........", "f.fffffff.........", "n.nnnnnfn.........", "u.uuuuufu.........",
    "v.vvvvvfv.........", "t.tttttft.........",
};

// The type of x div y for each type of x, in the order of kOrder.
constexpr std::string_view kFloorDivideRules = "i.iiijffi.pmdznuvt";
constexpr std::string_view kDeltasRules = "i.iiijef..niifnuvt";
constexpr std::string_view kSumRules = "i.iiijef..pmdznuvt";

std::optional<Type> TypeAt(std::string_view row, Type type) {
  const size_t at = kOrder.find(LetterOf(type));
  if (!IsVectorType(type) || at == std::string_view::npos) return std::nullopt;
  return TypeOfLetter(row[at]);
}

std::optional<Type> Lookup(const Rules& rules, Type x, Type y) {
  const size_t row = kOrder.find(LetterOf(x));
  if (!IsVectorType(x) || row == std::string_view::npos) return std::nullopt;
  return TypeAt(rules[row], y);
}

// Returns subtract's type, which differs from add's only with text on the right.
std::optional<Type> SubtractType(Type x, Type y) {
  return y == Type::kChar ? TypeAt(kSumRules, x) : Lookup(kAddRules, x, y);
}

bool IsName(Type type) { return type == Type::kGuid || type == Type::kSymbol; }

std::optional<Type> FloorDivideType(Type x, Type y) {
  if (!IsVectorType(y) || IsName(y)) return std::nullopt;
  return TypeAt(kFloorDivideRules, x);
}

// Returns the type of `x xbar y`, which is x*y div x in q; a timespan x counts as a long.
std::optional<Type> RoundDownType(Type x, Type y) {
  const Type size = x == Type::kTimespan ? Type::kLong : x;
  const std::optional<Type> quotient = FloorDivideType(y, size);
  return quotient.has_value() ? Lookup(kMultiplyRules, size, *quotient) : std::nullopt;
}

}  // namespace

std::optional<Type> ResultType(AtomicOp op, Type x, Type y) {
  if (std::holds_alternative<Comparison>(op)) return Lookup(kCompareRules, x, y);
  switch (std::get<Arithmetic>(op)) {
    case Arithmetic::kAdd:
      return Lookup(kAddRules, x, y);
    case Arithmetic::kSubtract:
      return SubtractType(x, y);
    case Arithmetic::kMultiply:
      return Lookup(kMultiplyRules, x, y);
    case Arithmetic::kFill:
      if (x == y && IsVectorType(x)) return x;
      return Lookup(kLesserRules, x, y);
    case Arithmetic::kPower:
    case Arithmetic::kLogarithm:
    case Arithmetic::kDivide: {
      const bool numbers = IsVectorType(x) && IsVectorType(y) && !IsName(x) && !IsName(y);
      return numbers ? std::optional(Type::kFloat) : std::nullopt;
    }
    case Arithmetic::kFloorDivide:
      return FloorDivideType(x, y);
    case Arithmetic::kModulo:
      return Lookup(kModuloRules, x, y);
    case Arithmetic::kRoundDown:
      return RoundDownType(x, y);
    case Arithmetic::kLesser:
    case Arithmetic::kGreater:
      return Lookup(kLesserRules, x, y);
  }
  TS_CHECK(false);
}

std::optional<Type> DeltasType(Type type) { return TypeAt(kDeltasRules, type); }

std::optional<Type> SumType(Type type) { return TypeAt(kSumRules, type); }

int64_t UnitNs(Type type) {
  if (type == Type::kTimestamp || type == Type::kTimespan) return 1;
  if (type == Type::kDate) return kNsPerDay;
  if (type == Type::kMinute) return 60 * kNsPerSecond;
  if (type == Type::kSecond) return kNsPerSecond;
  if (type == Type::kTime) return kNsPerSecond / 1000;
  return 0;
}

}  // namespace tickstack::query
