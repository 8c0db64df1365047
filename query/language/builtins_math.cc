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
    ByItem(Builtin{"+", 2, 2, true, Atomic<AtomicOp::kAdd>}),
    ByItem(Builtin{"-", 2, 2, true, Atomic<AtomicOp::kSubtract>}),
    ByItem(Builtin{"*", 2, 2, true, Atomic<AtomicOp::kMultiply>}),
    ByItem(Builtin{"%", 2, 2, true, Atomic<AtomicOp::kDivide>}),
    ByItem(Builtin{"div", 2, 2, true, Atomic<AtomicOp::kFloorDivide>}),
    ByItem(Builtin{"mod", 2, 2, true, Atomic<AtomicOp::kModulo>}),
    ByItem(Builtin{"xbar", 2, 2, true, Atomic<AtomicOp::kRoundDown>, true}),
    ByItem(Builtin{"xexp", 2, 2, true, Atomic<AtomicOp::kPower>}),
    ByItem(Builtin{"xlog", 2, 2, true, Atomic<AtomicOp::kLogarithm>}),
    ByItem(Builtin{"neg", 1, 1, false, Unary<Negate>}),
    ByItem(Builtin{"abs", 1, 1, false, Unary<Absolute>}),
    ByItem(Builtin{"signum", 1, 1, false, Unary<Signum>}),
    ByItem(Builtin{"floor", 1, 1, false, Unary<Floor>}),
    ByItem(Builtin{"ceiling", 1, 1, false, Unary<Ceiling>}),
    ByItem(Builtin{"sqrt", 1, 1, false, Unary<SquareRoot>}),
    ByItem(Builtin{"exp", 1, 1, false, Unary<Exponential>}),
    ByItem(Builtin{"log", 1, 1, false, Unary<NaturalLogarithm>}),
    ByItem(Builtin{"reciprocal", 1, 1, false, Unary<Reciprocal>}),
    ByItem(Builtin{"sin", 1, 1, false, Unary<Sine>}),
    ByItem(Builtin{"cos", 1, 1, false, Unary<Cosine>}),
    ByItem(Builtin{"tan", 1, 1, false, Unary<Tangent>}),
    ByItem(Builtin{"asin", 1, 1, false, Unary<ArcSine>}),
    ByItem(Builtin{"acos", 1, 1, false, Unary<ArcCosine>}),
    ByItem(Builtin{"atan", 1, 1, false, Unary<ArcTangent>}),
    Builtin{"mmu", 2, 2, true, Binary<MatrixProduct>},
    Builtin{"lsq", 2, 2, true, Binary<LeastSquares>},
    Builtin{"inv", 1, 1, false, Unary<MatrixInverse>},
};

}  // namespace

std::span<const Builtin> MathFunctions() { return kMathTable; }

}  // namespace tickstack::query::builtins
