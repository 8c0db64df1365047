#include "query/joins/nbbo_side.h"

#include <bit>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/range_items.h"
#include "query/kernels/ordered_times.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

template <typename T>
int64_t KeyOfPrice(T price, bool ask) {
  const int64_t ordered = OrderedTime(price);
  if (ordered == kNullLong || ordered == 0) return kNoPrice;
  return ask ? -ordered : ordered;
}

template <typename T>
T PriceOfKey(Type type, int64_t key, bool ask) {
  if (key == kNoPrice) return NullElement<T>(type);
  const int64_t ordered = ask ? -key : key;
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(FloatOfOrdered(ordered));
  return static_cast<T>(ordered);
}

// Returns a price as the bits that BestQuotes adds up.
template <typename T>
int64_t SizeBits(Type type, T size) {
  const bool null = IsNullElement(type, size);
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<int64_t>(null ? 0.0 : double{size});
  } else {
    return null ? 0 : int64_t{size};
  }
}

absl::Status ReserveItems(Type type, size_t rows, ByteBuffer& bytes, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(rows, WidthOf(type)));
  bytes.reserve(rows * WidthOf(type));
  bytes.resize(rows * WidthOf(type));
  return absl::OkStatus();
}

}  // namespace

NbboSide::NbboSide(bool ask, Slice price, std::optional<Slice> size)
    : ask_(ask), price_(std::move(price)), size_(std::move(size)) {
  if (!size_.has_value()) return;
  size_type_ = *SumType(size_->type());
  sizes_ = IsFloating(size_type_) ? SizeKind::kFloating : SizeKind::kInteger;
}

absl::Status NbboSide::Reserve(size_t rows, Budget& budget) {
  TS_RETURN_IF_ERROR(ReserveItems(price_.type(), rows, best_price_, budget));
  return size_.has_value() ? ReserveItems(size_type_, rows, best_size_, budget) : absl::OkStatus();
}

void NbboSide::Read(size_t begin, std::span<BestQuotes::Quote> quotes) const {
  const size_t end = begin + quotes.size();
  VisitElementType(price_.type(), [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      EachSpan<T>(price_, begin, end, [&](std::span<const T> prices, size_t offset) {
        for (size_t i = 0; i < prices.size(); ++i) {
          quotes[offset + i].price = KeyOfPrice(prices[i], ask_);
        }
      });
    }
  });
  if (!size_.has_value()) return;
  const Type type = size_->type();
  VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      EachSpan<T>(*size_, begin, end, [&](std::span<const T> sizes, size_t offset) {
        for (size_t i = 0; i < sizes.size(); ++i)
          quotes[offset + i].size = SizeBits(type, sizes[i]);
      });
    }
  });
}

void NbboSide::Write(size_t begin, std::span<const BestQuotes::Quote> best) {
  const Type type = price_.type();
  VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      T* const out = reinterpret_cast<T*>(best_price_.data()) + begin;
      for (size_t i = 0; i < best.size(); ++i) {
        out[i] = PriceOfKey<T>(type, best[i].price, ask_);
      }
    }
  });
  if (!size_.has_value()) return;
  VisitElementType(size_type_, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      T* const out = reinterpret_cast<T*>(best_size_.data()) + begin;
      for (size_t i = 0; i < best.size(); ++i) {
        if (best[i].price == kNoPrice) {
          out[i] = NullElement<T>(size_type_);
        } else if constexpr (std::is_floating_point_v<T>) {
          out[i] = static_cast<T>(std::bit_cast<double>(best[i].size));
        } else {
          out[i] = static_cast<T>(best[i].size);
        }
      }
    }
  });
}

}  // namespace tickstack::query
