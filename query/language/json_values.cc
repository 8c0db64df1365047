#include "query/language/json_values.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/item_terms.h"
#include "table/format_value.h"

namespace tickstack::query {
namespace {

using Json = nlohmann::json;

// Makes values of JSON text while it is parsed, so that entries keep their order.
class JsonValues final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonValues(Budget& budget) : budget_(budget) {}

  bool null() override { return Add(Value::Float(std::numeric_limits<double>::quiet_NaN())); }
  bool boolean(bool flag) override { return Add(Value::Boolean(flag)); }
  bool number_integer(int64_t number) override {
    return Add(Value::Float(static_cast<double>(number)));
  }
  bool number_unsigned(uint64_t number) override {
    return Add(Value::Float(static_cast<double>(number)));
  }
  bool number_float(double number, const std::string&) override {
    return Add(Value::Float(number));
  }
  bool string(std::string& text) override { return Add(Value::String(text)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(); }
  bool key(std::string& name) override {
    open_.back().names.push_back(name);
    return true;
  }
  bool end_object() override {
    SymbolVector names = std::move(open_.back().names);
    // Keeps a list even if its values could be rows: a dictionary's values are single ones.
    return Close(
        [&](Value list) { return Value::Dict(Value::Symbols(std::move(names)), std::move(list)); });
  }
  bool start_array(size_t) override { return Open(); }
  bool end_array() override {
    return Close([](Value list) { return list; });
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    status_ = WithoutPosition(ParseError("json", at, "no JSON text"));
    return false;
  }

  absl::StatusOr<Value> Finish(bool whole) {
    TS_RETURN_IF_ERROR(status_);
    if (!whole || !value_.has_value())
      return WithoutPosition(ParseError("json", 0, "no JSON text"));
    return *std::move(value_);
  }

 private:
  // An array, or an object with its names.
  struct Items {
    SymbolVector names;
    std::vector<Value> values;
  };

  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }
  bool Add(Value value) {
    if (open_.empty()) {
      value_ = std::move(value);
    } else {
      open_.back().values.push_back(std::move(value));
    }
    return true;
  }
  bool Open() {
    if (open_.size() >= kMaxListDepth) {
      return Fail(StackError("JSON more than {} deep", kMaxListDepth));
    }
    open_.emplace_back();
    return true;
  }
  template <typename F>
  bool Close(F make) {
    absl::StatusOr<Value> list = CollectItems(std::move(open_.back().values), budget_);
    if (!list.ok()) return Fail(list.status());
    open_.pop_back();
    return Add(make(*std::move(list)));
  }

  Budget& budget_;
  std::vector<Items> open_;
  std::optional<Value> value_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Value> JsonOf(const Value& x, Budget& budget) {
  const size_t bytes = ApproximateBytes(x);
  // Each row repeats the columns' names. The text grows by doubling and is copied once.
  size_t names = 0;
  if (x.is_table()) names = x.count() * (x.column_names().text().size() + 4 * x.columns().size());
  TS_RETURN_IF_ERROR(budget.Charge(Budget::Amount{16 * bytes + 3 * names, 16 * bytes + 3 * names}));
  return Value::String(FormatJson(x));
}

absl::StatusOr<Value> ValueOfJson(std::string_view text, Budget& budget) {
  // Counts a node for each two bytes, and its value.
  constexpr size_t kBytesPerByte = 96;
  TS_RETURN_IF_ERROR(
      budget.Charge(Budget::Amount{text.size() * kBytesPerByte, text.size() * kBytesPerByte}));
  JsonValues values(budget);
  const bool whole = Json::sax_parse(text, &values);
  return values.Finish(whole);
}

}  // namespace tickstack::query
