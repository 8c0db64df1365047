#include "query/language/kept_names.h"

#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/function_value.h"
#include "table/codec.h"

namespace tickstack::query {
namespace {

// The same number as a request may have.
constexpr size_t kMaxNames = 1000;

// The place in the client's random numbers is kept as a value, under a name that no variable has.
constexpr std::string_view kRandomPlace = "\\S";

std::string EncodedPlace(const Random::Place& place) {
  const int64_t numbers[] = {place.seed, static_cast<int64_t>(place.state)};
  ByteBuffer encoded;
  Encode(Value::Vector(Type::kLong, std::span<const int64_t>(numbers)), encoded);
  return std::string(AsText(std::span<const std::byte>(encoded)));
}

absl::StatusOr<Random::Place> RandomPlaceOf(const Term& kept) {
  const Limits limits;
  Budget budget(limits);
  TS_ASSIGN_OR_RETURN(const Value numbers, ToValue(kept, budget));
  return Random::Place{static_cast<int32_t>(numbers.span<int64_t>()[0]),
                       static_cast<uint64_t>(numbers.span<int64_t>()[1])};
}

}  // namespace

absl::Status KeptNames::Load(Frame& request) const {
  for (const auto& [name, kept] : kept_) {
    if (name == kRandomPlace) {
      TS_ASSIGN_OR_RETURN(const Random::Place place, RandomPlaceOf(kept.term));
      request.random().Continue(place);
      continue;
    }
    TS_RETURN_IF_ERROR(request.AssignKept(name, kept.term, kept.is_view));
  }
  return absl::OkStatus();
}

std::vector<KeptNames::Change> KeptNames::ChangesOf(const Frame& request, Budget& budget) const {
  std::vector<Change> changes;
  size_t bytes = 0;
  if (const auto& place = request.random().place(); place.has_value()) {
    changes.push_back({.name = std::string(kRandomPlace),
                       .encoded = EncodedPlace(*place),
                       .bytes = sizeof(*place)});
  }
  request.EachChanged([&](std::string_view name, const Term& term, bool is_view) {
    Change change{.name = std::string(name), .is_view = is_view, .encoded = ""};
    const absl::StatusOr<Budget::Amount> amount = CheckedBytes(term, true);
    change.bytes = amount.ok() ? amount->bytes : kMaxBytes + 1;
    bytes += change.bytes;
    if (bytes <= kMaxBytes) {
      const absl::StatusOr<Value> value = ToValue(term, budget);
      const absl::StatusOr<size_t> size =
          value.ok() ? EncodedBytes(*value) : absl::StatusOr<size_t>(value.status());
      if (size.ok() && *size <= kMaxBytes) {
        ByteBuffer encoded;
        encoded.reserve(*size);
        Encode(*value, encoded);
        change.encoded.assign(AsText(std::span<const std::byte>(encoded)));
      }
    }
    changes.push_back(std::move(change));
  });
  request.EachForgotten([&](std::string_view name) {
    changes.push_back({.name = std::string(name), .is_forgotten = true, .encoded = ""});
  });
  return changes;
}

void KeptNames::Forget(const std::string& name) {
  const auto before = kept_.find(name);
  if (before == kept_.end()) return;
  bytes_ -= before->second.bytes;
  kept_.erase(before);
}

void KeptNames::Keep(std::vector<Change> changes) {
  for (Change& change : changes) {
    Forget(change.name);
    too_large_.erase(change.name);
    if (change.is_forgotten) continue;
    const bool fits =
        !change.encoded.empty() && bytes_ + change.bytes <= kMaxBytes && kept_.size() < kMaxNames;
    absl::StatusOr<Value> value =
        fits ? Decode(AsBytes(change.encoded)) : ResourceExhausted("it does not fit");
    const Limits limits;
    Budget budget(limits);
    absl::StatusOr<Term> term = value.ok() ? Shared(*std::move(value), budget) : value.status();
    if (!term.ok()) {
      if (too_large_.size() < kMaxNames) too_large_.emplace(change.name, change.bytes);
      continue;
    }
    bytes_ += change.bytes;
    kept_.emplace(change.name, Kept{*std::move(term), change.is_view, change.bytes});
  }
}

absl::Status KeptNames::Explain(absl::Status why) const {
  if (why.code() != absl::StatusCode::kNotFound) return why;
  const auto found = too_large_.find(QErrorText(why));
  if (found == too_large_.end()) return why;
  return LimitError("{} of an earlier request was not kept: {} bytes, a client may keep {}",
                    found->first, found->second, kMaxBytes);
}

}  // namespace tickstack::query
