#include "query/kernels/domain_blocks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"

namespace tickstack::query {

template <typename D>
absl::Status ForEachDomainBlock(const Slice& slice, Budget& budget,
                                absl::FunctionRef<void(std::span<D>)> f) {
  constexpr size_t kBlock = 1024;
  std::array<D, kBlock> domain;
  const Type type = slice.type();
  if (!IsFixedWidth(type)) return absl::OkStatus();
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::Status {
    if constexpr (std::is_same_v<T, Guid>) {
      return absl::OkStatus();
    } else {
      return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
        for (size_t at = 0; at < block.elements.size(); at += kBlock) {
          const std::span<const T> part =
              block.elements.subspan(at, std::min(kBlock, block.elements.size() - at));
          for (size_t i = 0; i < part.size(); ++i) {
            const bool null = !std::is_same_v<T, uint8_t> && IsNullElement(type, part[i]);
            domain[i] = null ? NullElement<D>(Type::kLong) : static_cast<D>(part[i]);
          }
          f(std::span<D>(domain.data(), part.size()));
        }
      });
    }
  });
}

template <typename D>
absl::StatusOr<Value> MapInDomain(const Slice& slice, Type type, Budget& budget,
                                  absl::FunctionRef<void(std::span<D>)> f) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), WidthOf(type)));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    if constexpr (std::is_same_v<T, Guid>) {
      return EmptyVector(type);  // Results of a domain never have such a type.
    } else {
      VectorWriter<T> out(type, slice.count());
      T* at = out.data();
      TS_RETURN_IF_ERROR(ForEachDomainBlock<D>(slice, budget, [&](std::span<D> block) {
        f(block);
        StoreBlock(type, block.data(), at, block.size());
        at += block.size();
      }));
      return std::move(out).Finish();
    }
  });
}

template absl::Status ForEachDomainBlock(const Slice&, Budget&,
                                         absl::FunctionRef<void(std::span<int64_t>)>);
template absl::Status ForEachDomainBlock(const Slice&, Budget&,
                                         absl::FunctionRef<void(std::span<double>)>);
template absl::StatusOr<Value> MapInDomain(const Slice&, Type, Budget&,
                                           absl::FunctionRef<void(std::span<int64_t>)>);
template absl::StatusOr<Value> MapInDomain(const Slice&, Type, Budget&,
                                           absl::FunctionRef<void(std::span<double>)>);

}  // namespace tickstack::query
