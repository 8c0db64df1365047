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
    Builtin{"+", 2, 2, true, Atomic<AtomicOp::kAdd>},
    Builtin{"-", 2, 2, true, Atomic<AtomicOp::kSubtract>},
    Builtin{"*", 2, 2, true, Atomic<AtomicOp::kMultiply>},
    Builtin{"%", 2, 2, true, Atomic<AtomicOp::kDivide>},
    Builtin{"div", 2, 2, true, Atomic<AtomicOp::kFloorDivide>},
    Builtin{"mod", 2, 2, true, Atomic<AtomicOp::kModulo>},
    Builtin{"xbar", 2, 2, true, Atomic<AtomicOp::kRoundDown>, true},
    Builtin{"xexp", 2, 2, true, Atomic<AtomicOp::kPower>},
    Builtin{"xlog", 2, 2, true, Atomic<AtomicOp::kLogarithm>},
    Builtin{"neg", 1, 1, false, Unary<Negate>},
    Builtin{"abs", 1, 1, false, Unary<Absolute>},
    Builtin{"signum", 1, 1, false, Unary<Signum>},
    Builtin{"floor", 1, 1, false, Unary<Floor>},
    Builtin{"ceiling", 1, 1, false, Unary<Ceiling>},
    Builtin{"sqrt", 1, 1, false, Unary<SquareRoot>},
    Builtin{"exp", 1, 1, false, Unary<Exponential>},
    Builtin{"log", 1, 1, false, Unary<NaturalLogarithm>},
    Builtin{"reciprocal", 1, 1, false, Unary<Reciprocal>},
    Builtin{"sin", 1, 1, false, Unary<Sine>},
    Builtin{"cos", 1, 1, false, Unary<Cosine>},
    Builtin{"tan", 1, 1, false, Unary<Tangent>},
    Builtin{"asin", 1, 1, false, Unary<ArcSine>},
    Builtin{"acos", 1, 1, false, Unary<ArcCosine>},
    Builtin{"atan", 1, 1, false, Unary<ArcTangent>},
    Builtin{"mmu", 2, 2, true, Binary<MatrixProduct>},
    Builtin{"lsq", 2, 2, true, Binary<LeastSquares>},
    Builtin{"inv", 1, 1, false, Unary<MatrixInverse>},
};

}  // namespace

std::span<const Builtin> MathFunctions() { return kMathTable; }

}  // namespace tickstack::query::builtins
