// Arithmetic, rounding, powers and trigonometry, item by item; products of matrices.

#include <array>

#include "query/kernels/atomic.h"
#include "query/kernels/matrix.h"
#include "query/kernels/numbers.h"
#include "query/kernels/unary.h"
#include "query/language/builtins.h"

namespace tickstack::query::builtins {
namespace {

constexpr std::array kMathTable = {
    With(Builtin::kPure, ByItem(Builtin{"+", 2, 2, true, Atomic<Arithmetic::kAdd>})),
    With(Builtin::kPure, ByItem(Builtin{"-", 2, 2, true, Atomic<Arithmetic::kSubtract>})),
    With(Builtin::kPure, ByItem(Builtin{"*", 2, 2, true, Atomic<Arithmetic::kMultiply>})),
    With(Builtin::kPure, ByItem(Builtin{"%", 2, 2, true, Atomic<Arithmetic::kDivide>})),
    With(Builtin::kPure,
         ByItem(Builtin{"div", 2, 2, true, Atomic<Arithmetic::kFloorDivide>, true})),
    With(Builtin::kPure, ByItem(Builtin{"mod", 2, 2, true, Atomic<Arithmetic::kModulo>, true})),
    With(Builtin::kPure, ByItem(Builtin{"xbar", 2, 2, true, Atomic<Arithmetic::kRoundDown>, true})),
    ByItem(Builtin{"xexp", 2, 2, true, Atomic<Arithmetic::kPower>, true}),
    ByItem(Builtin{"xlog", 2, 2, true, Atomic<Arithmetic::kLogarithm>, true}),
    With(Builtin::kPure, ByItem(Builtin{"neg", 1, 1, false, Unary<Negate>})),
    With(Builtin::kPure, ByItem(Builtin{"abs", 1, 1, false, Unary<Absolute>})),
    With(Builtin::kPure, ByItem(Builtin{"signum", 1, 1, false, Unary<Signum>})),
    With(Builtin::kPure, ByItem(Builtin{"floor", 1, 1, false, Unary<Floor>})),
    With(Builtin::kPure, ByItem(Builtin{"ceiling", 1, 1, false, Unary<Ceiling>})),
    With(Builtin::kPure, ByItem(Builtin{"sqrt", 1, 1, false, Unary<SquareRoot>})),
    With(Builtin::kPure, ByItem(Builtin{"exp", 1, 1, false, Unary<Exponential>})),
    With(Builtin::kPure, ByItem(Builtin{"log", 1, 1, false, Unary<NaturalLogarithm>})),
    With(Builtin::kPure, ByItem(Builtin{"reciprocal", 1, 1, false, Unary<Reciprocal>})),
    ByItem(Builtin{"sin", 1, 1, false, Unary<Sine>}),
    ByItem(Builtin{"cos", 1, 1, false, Unary<Cosine>}),
    ByItem(Builtin{"tan", 1, 1, false, Unary<Tangent>}),
    ByItem(Builtin{"asin", 1, 1, false, Unary<ArcSine>}),
    ByItem(Builtin{"acos", 1, 1, false, Unary<ArcCosine>}),
    ByItem(Builtin{"atan", 1, 1, false, Unary<ArcTangent>}),
    Builtin{"mmu", 2, 2, true, Binary<MatrixProduct>, true},
    Builtin{"lsq", 2, 2, true, Binary<LeastSquares>, true},
    Builtin{"inv", 1, 1, false, Unary<MatrixInverse>},
};

}  // namespace

std::span<const Builtin> MathFunctions() { return kMathTable; }

}  // namespace tickstack::query::builtins
