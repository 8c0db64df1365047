#include "query/kernels/float_pairs.h"

#include "query/columns/elements.h"
#include "query/kernels/number_rules.h"

namespace tickstack::query {

bool ReadsAsFloats(Type type) {
  switch (type) {
    case Type::kBoolean:
    case Type::kByte:
    case Type::kShort:
    case Type::kInt:
    case Type::kLong:
    case Type::kReal:
    case Type::kFloat:
      return true;
    default:
      return false;
  }
}

absl::Status ReadFloats(const Slice& slice, size_t begin, std::span<double> out,
                        const Budget& budget) {
  TS_CHECK(ReadsAsFloats(slice.type()));
  return VisitElementType(slice.type(), [&]<typename T>(std::type_identity<T>) -> absl::Status {
    if constexpr (std::is_same_v<T, Guid>) {
      return absl::OkStatus();
    } else {
      double* at = out.data();
      return ForEachBlock<T>(slice, begin, begin + out.size(), budget, [&](const Block<T>& block) {
        at = std::transform(block.elements.begin(), block.elements.end(), at, [](T item) {
          return IsNull(item) ? NullElement<double>(Type::kFloat) : static_cast<double>(item);
        });
      });
    }
  });
}

}  // namespace tickstack::query
