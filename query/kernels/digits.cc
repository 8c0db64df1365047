#include "query/kernels/digits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/scratch.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/atomic.h"
#include "query/kernels/casts.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

bool IsWhole(Type type) {
  return WidthOf(type) > 0 && SumType(type).has_value() && !IsFloating(type) && !IsTemporal(type);
}

// Returns whole numbers of any width as longs.
absl::StatusOr<Value> AsLongs(const Value& numbers, Budget& budget) {
  if (!numbers.is_atom() && !numbers.is_vector()) return NyiError("vs of a list");
  if (!IsWhole(numbers.type())) return TypeError("digits of {}", NameOf(numbers.type()));
  return CastColumn(Slice::Of(numbers.is_atom() ? Enlist(numbers) : numbers),
                    {Type::kLong, std::nullopt}, budget);
}

size_t CountDigits(int64_t largest, int64_t base) {
  size_t digits = 1;
  while (largest >= base) {
    largest /= base;
    ++digits;
  }
  return digits;
}

// Takes the last digit off each number; with base 0, takes all that is left.
Value LastDigits(ScratchVector<int64_t>& numbers, int64_t base) {
  VectorWriter<int64_t> digits(Type::kLong, numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    digits.data()[i] = base == 0 ? numbers[i] : numbers[i] % base;
    numbers[i] = base == 0 ? 0 : numbers[i] / base;
  }
  return std::move(digits).Finish();
}

std::vector<std::byte> BigEndian(const Value& atom) {
  const std::span<const std::byte> bytes = atom.elements();
  std::vector<std::byte> reversed(bytes.begin(), bytes.end());
  // A guid's bytes are in the order in which it is written.
  if (atom.type() != Type::kGuid) std::ranges::reverse(reversed);
  return reversed;
}

absl::StatusOr<Value> AtomOfBigEndian(std::vector<std::byte> bytes) {
  constexpr std::pair<size_t, Type> kTypes[] = {
      {1, Type::kByte}, {2, Type::kShort}, {4, Type::kInt}, {8, Type::kLong}, {16, Type::kGuid}};
  const auto found = std::ranges::find(kTypes, bytes.size(), &std::pair<size_t, Type>::first);
  if (found == std::end(kTypes)) return LengthError("a number of {} bytes", bytes.size());
  if (found->second != Type::kGuid) std::ranges::reverse(bytes);
  return Value::AtomFromBytes(found->second, bytes);
}

}  // namespace

absl::StatusOr<Value> DigitsOf(const Value& bases, const Value& numbers, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value longs, AsLongs(numbers, budget));
  TS_ASSIGN_OR_RETURN(const Value base_longs, AsLongs(bases, budget));
  const std::span<const int64_t> items = longs.span<int64_t>();
  const std::span<const int64_t> base = base_longs.span<int64_t>();
  for (size_t i = 0; i < base.size(); ++i) {
    if (base[i] < 2 && (base[i] != 0 || bases.is_atom() || i > 0)) {
      return DomainError("digits to base {}", base[i]);
    }
  }
  if (std::ranges::any_of(items, [](int64_t item) { return item < 0; })) {
    return DomainError("digits of a number below 0");
  }
  const int64_t largest = items.empty() ? 0 : std::ranges::max(items);
  const size_t digits = bases.is_atom() ? CountDigits(largest, base[0]) : base.size();
  TS_RETURN_IF_ERROR(budget.ChargeItems(digits));
  TS_RETURN_IF_ERROR(budget.Charge(digits + 2, items.size() * sizeof(int64_t)));
  ScratchVector<int64_t> left(items.begin(), items.end());
  std::vector<Value> rows;
  for (size_t i = digits; i > 0; --i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    rows.push_back(LastDigits(left, base[bases.is_atom() ? 0 : i - 1]));
  }
  std::ranges::reverse(rows);
  if (!numbers.is_atom()) return Value::List(std::move(rows));
  for (Value& row : rows) row = ItemAt(row, 0);
  return rows.empty() ? EmptyVector(Type::kLong) : Collapse(std::move(rows));
}

absl::StatusOr<Value> NumberOfDigits(const Value& bases, const Value& digits, Budget& budget) {
  if (!digits.is_vector() && !digits.is_list()) {
    return TypeError("digits that are a {}", NameOf(digits.type()));
  }
  if (!bases.is_atom() && !bases.is_vector()) return TypeError("bases that are no vector");
  if (!bases.is_atom() && bases.count() != digits.count()) {
    return LengthError("{} bases for {} digits", bases.count(), digits.count());
  }
  if (digits.count() == 0) return Value::Long(0);
  Value number = ItemAt(digits, 0);
  for (size_t i = 1; i < digits.count(); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Value base = bases.is_atom() ? bases : ItemAt(bases, i);
    TS_ASSIGN_OR_RETURN(number, ApplyAtomic(Arithmetic::kMultiply, number, base, budget));
    TS_ASSIGN_OR_RETURN(number, ApplyAtomic(Arithmetic::kAdd, number, ItemAt(digits, i), budget));
  }
  return number;
}

absl::StatusOr<Value> BytesOfAtom(const Value& atom) {
  if (!atom.is_atom() || !IsFixedWidth(atom.type())) {
    return TypeError("bytes of a {}", NameOf(atom.type()));
  }
  return Value::Vector(Type::kByte, ByteBuffer(BigEndian(atom)));
}

absl::StatusOr<Value> BitsOfAtom(const Value& atom) {
  if (!atom.is_atom() || !IsFixedWidth(atom.type())) {
    return TypeError("bits of a {}", NameOf(atom.type()));
  }
  const std::vector<std::byte> bytes = BigEndian(atom);
  VectorWriter<uint8_t> bits(Type::kBoolean, 8 * bytes.size());
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    bits.data()[i] =
        static_cast<uint8_t>((std::to_integer<unsigned>(bytes[i / 8]) >> (7 - i % 8)) & 1);
  }
  return std::move(bits).Finish();
}

absl::StatusOr<Value> AtomOfBytes(const Value& bytes) {
  if (!bytes.is(Type::kByte)) return TypeError("bytes that are {}s", NameOf(bytes.type()));
  const std::span<const std::byte> elements = bytes.elements();
  if (elements.size() < 2 || elements.size() > 16) {
    return LengthError("a number of {} bytes", elements.size());
  }
  return AtomOfBigEndian({elements.begin(), elements.end()});
}

absl::StatusOr<Value> AtomOfBits(const Value& bits) {
  if (!bits.is(Type::kBoolean)) return TypeError("bits that are {}s", NameOf(bits.type()));
  const size_t n = bits.count();
  if (n % 8 != 0 || n > 128) return LengthError("a number of {} bits", n);
  std::vector<std::byte> bytes(n / 8);
  for (size_t i = 0; i < n; ++i) {
    const auto bit = static_cast<std::byte>(bits.span<uint8_t>()[i] != 0);
    bytes[i / 8] |= bit << (7 - i % 8);
  }
  return AtomOfBigEndian(std::move(bytes));
}

}  // namespace tickstack::query
