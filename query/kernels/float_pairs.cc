#include "query/kernels/float_pairs.h"

#include <algorithm>
#include <iterator>

#include "query/columns/elements.h"
#include "query/kernels/number_rules.h"

namespace tickstack::query {

bool ReadsAsFloats(Type type) {
  constexpr Type kTypes[] = {Type::kBoolean, Type::kByte, Type::kShort, Type::kInt,
                             Type::kLong,    Type::kReal, Type::kFloat};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
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
