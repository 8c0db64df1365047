#include "query/kernels/attributes.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/any_column.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/search.h"
#include "query/kernels/sort.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kLetters = "supg";  // Ordered by their codes, which begin at 1.

absl::Status Fails(std::string_view signal, std::string_view detail) {
  return QError(absl::StatusCode::kInvalidArgument, signal, detail);
}

absl::Status CannotHave(Attribute attribute, const Value& x) {
  return TypeError("`{}# of a {}", kLetters[static_cast<size_t>(attribute) - 1], NameOf(x.type()));
}

absl::Status CheckAscends(const Value& items, Budget& budget) {
  const Slice slice = Slice::Of(items);
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> order,
                      Grade(std::span(&slice, 1), Direction::kAscending, budget));
  if (std::ranges::is_sorted(order)) return absl::OkStatus();
  return Fails("s-fail", "items that do not ascend");
}

absl::StatusOr<bool> IsUnique(const Value& items, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value distinct, Distinct(items, budget));
  return distinct.count() == items.count();
}

absl::StatusOr<bool> IsParted(const Value& vector, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value distinct, Distinct(vector, budget));
  size_t parts = vector.count() > 0 ? 1 : 0;
  for (size_t i = 1; i < vector.count(); ++i) {
    if (CompareItems(vector, i - 1, i) != 0) ++parts;
  }
  return parts == distinct.count();
}

absl::StatusOr<Value> SequenceWith(Attribute attribute, Value x, Budget& budget) {
  const bool typed = attribute == Attribute::kParted || attribute == Attribute::kGrouped;
  if (typed && !x.is_vector()) return CannotHave(attribute, x);
  if (attribute == Attribute::kSorted) TS_RETURN_IF_ERROR(CheckAscends(x, budget));
  if (attribute == Attribute::kUnique) {
    TS_ASSIGN_OR_RETURN(const bool unique, IsUnique(x, budget));
    if (!unique) return Fails("u-fail", "items that are there twice");
  }
  if (attribute == Attribute::kParted) {
    TS_ASSIGN_OR_RETURN(const bool parted, IsParted(x, budget));
    if (!parted) return Fails("u-fail", "equal items that are not adjacent");
  }
  x.set_attribute(attribute);
  return x;
}

absl::StatusOr<Value> DictWith(Attribute attribute, Value x, Budget& budget) {
  if (attribute != Attribute::kNone && attribute != Attribute::kSorted) {
    return CannotHave(attribute, x);
  }
  TS_ASSIGN_OR_RETURN(Value keys, SequenceWith(attribute, x.keys(), budget));
  const Type type = attribute == Attribute::kSorted ? Type::kSortedDict : Type::kDict;
  return Value::Pair(type, Attribute::kNone, std::move(keys), x.values());
}

absl::StatusOr<Value> TableWith(Attribute attribute, const Value& x, Budget& budget) {
  if (attribute != Attribute::kNone && attribute != Attribute::kSorted) {
    return CannotHave(attribute, x);
  }
  std::vector<Value> columns = x.columns();
  if (attribute == Attribute::kNone) {
    for (Value& column : columns) column.set_attribute(Attribute::kNone);
  } else if (!columns.empty()) {
    TS_RETURN_IF_ERROR(CheckAscends(columns[0], budget));
    if (columns[0].is_vector()) columns[0].set_attribute(Attribute::kParted);
  }
  return Value::Table(x.column_names(), std::move(columns));
}

}  // namespace

std::optional<Attribute> AttributeOfLetter(std::string_view letter) {
  if (letter.empty()) return Attribute::kNone;
  const size_t at = letter.size() == 1 ? kLetters.find(letter) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<Attribute>(at + 1);
}

absl::StatusOr<Value> WithAttribute(Attribute attribute, Value x, Budget& budget) {
  if (IsSequence(x)) return SequenceWith(attribute, std::move(x), budget);
  if (x.is_table()) {
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x)));
    return TableWith(attribute, x, budget);
  }
  if (x.is_keyed_table()) {
    if (attribute != Attribute::kNone && attribute != Attribute::kSorted) {
      return CannotHave(attribute, x);
    }
    if (attribute == Attribute::kSorted) return NyiError("`s# of a keyed table");
    return x;
  }
  if (IsPlainDict(x)) {
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x)));
    return DictWith(attribute, std::move(x), budget);
  }
  if (attribute == Attribute::kNone) return x;
  return CannotHave(attribute, x);
}

}  // namespace tickstack::query
