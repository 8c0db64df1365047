#include "query/kernels/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "query/columns/elements.h"

namespace tickstack::query {
namespace {

template <typename T>
Value RandomVector(Type type, size_t n, std::mt19937_64& rng) {
  std::vector<T> items(n);
  const uint64_t bits = rng() % 64;  // Makes few distinct items, or many.
  for (T& item : items) {
    if constexpr (std::is_floating_point_v<T>) {
      item = static_cast<T>(static_cast<int64_t>(rng() >> bits)) / 7;
      if (rng() % 2 == 0) item = -item;
      if (rng() % 8 == 0) item = NullElement<T>(type);
      if (rng() % 8 == 0) item = std::numeric_limits<T>::infinity();
      if (rng() % 8 == 0) item = T{-0.0};
    } else if constexpr (std::is_same_v<T, Guid>) {
      for (std::byte& byte : item) byte = static_cast<std::byte>(rng() % 2);
    } else {
      item = static_cast<T>(rng() >> bits);
      if (rng() % 8 == 0) item = NullElement<T>(type);
    }
  }
  return Value::Vector(type, std::span<const T>(items));
}

Value RandomNames(size_t n, std::mt19937_64& rng) {
  SymbolVector names;
  for (size_t i = 0; i < n; ++i) {
    std::string name = rng() % 3 == 0 ? "prefix.of" : "";
    for (size_t c = rng() % 10; c > 0; --c) name += rng() % 4 == 0 ? '\xe9' : 'a';
    names.push_back(name);
  }
  return Value::Symbols(std::move(names));
}

void ExpectByDefinition(const Value& vector) {
  std::vector<uint32_t> expected(vector.count());
  std::iota(expected.begin(), expected.end(), 0u);
  std::ranges::stable_sort(expected,
                           [&](uint32_t a, uint32_t b) { return CompareItems(vector, a, b) < 0; });
  const ScratchVector<uint32_t> order = AscendingOrder(vector);
  ASSERT_TRUE(std::ranges::equal(order, expected));
}

TEST(Order, AgreesWithAStableSort) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    for (const size_t n : {0u, 1u, 2u, 40u, 255u, 256u, 700u}) {
      ExpectByDefinition(RandomVector<uint8_t>(Type::kByte, n, rng));
      ExpectByDefinition(RandomVector<int16_t>(Type::kShort, n, rng));
      ExpectByDefinition(RandomVector<int32_t>(Type::kMinute, n, rng));
      ExpectByDefinition(RandomVector<int64_t>(Type::kTimestamp, n, rng));
      ExpectByDefinition(RandomVector<float>(Type::kReal, n, rng));
      ExpectByDefinition(RandomVector<double>(Type::kFloat, n, rng));
      ExpectByDefinition(RandomVector<Guid>(Type::kGuid, n, rng));
      ExpectByDefinition(RandomNames(n, rng));
    }
  }
}

}  // namespace
}  // namespace tickstack::query
