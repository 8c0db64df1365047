#pragma once

// The requests that the tickerplant answers. Each verb is one row of a table in verbs.cc, and each
// value one row of a table in values.cc. docs/protocol.md says what they mean, and wire/protocol.h
// has their names.
//
// To add a verb, add its name to wire/protocol.h, a row to verbs.cc, a handler here, and a line to
// docs/protocol.md.
//
// Threads: the service's loop.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/language/environment.h"
#include "query/language/named_parameters.h"
#include "security/user_rights.h"
#include "tickerplant/tickerplant_service.h"

namespace tickstack::tickerplant {

struct TickerplantService::Verb {
  // What the sender gets back.
  enum class Answer : uint8_t {
    kResult,          // Sync: the result or an error. Async: nothing.
    kLogged,          // Sync: `::` once the rows are logged, or an error. Async: nothing.
    kLoggedOrRefused  // As kLogged, but an async message whose rows are refused gets `.u.err`.
  };

  // The right that a sender needs. A handler that takes tables checks those, too.
  enum class Needs : uint8_t { kNothing, kPublish, kSubscribe, kAdminister };

  std::string_view name;
  std::string_view arguments;  // For error messages, as q writes them: `[table;x]`.
  size_t arguments_min;
  size_t arguments_max;  // `f[]` has one argument, the generic null.
  Answer answer;
  Needs needs;
  // The handler. Verbs with rows have `stage`, which takes the bytes that arrived; all others have
  // `call`, which takes decoded arguments.
  absl::Status (TickerplantService::*stage)(wire::Connection& sender,
                                            std::span<const std::byte> body,
                                            const std::shared_ptr<const void>& owner);
  absl::StatusOr<Value> (Verbs::*call)(std::span<const Value> args) = nullptr;
};

// The environment of one request: the `.u` namespace, as its sender may use it.
class TickerplantService::Verbs final : public query::Environment, public query::NamedParameters {
 public:
  using Args = std::span<const Value>;
  using Service = TickerplantService;
  using enum Verb::Answer;
  using enum Verb::Needs;

  // Returns the verb with this name if it stages rows, else nullptr. Cost: a few comparisons.
  static const Verb* FindRows(std::string_view name);
  // True for a verb that stages no rows; false for an unknown name.
  static bool IsWithoutRows(std::string_view name);

  Verbs(TickerplantService& service, wire::Connection& sender)
      : service_(service), sender_(sender), access_(sender) {}

  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::vector<std::string> TableNames() override;
  int64_t NowNs() override { return service_.clock_.NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override;
  std::optional<absl::StatusOr<Value>> Call(std::string_view name, Args args) override;
  absl::Status Refusal(std::string_view name) override;
  std::vector<std::string> FunctionNames() override;
  std::vector<std::string> ParametersOf(std::string_view name) override;
  std::vector<std::string> ValueNames() override;

  const security::Access& access() const { return access_; }
  // True if the request staged rows, which are not logged yet.
  bool has_staged() const { return has_staged_; }
  // The feed whose rows the request asked for last, and whether it claimed the name; empty: none.
  const std::string& asked_feed() const { return asked_feed_; }
  bool claims() const { return claims_; }
  // The last error of numbered rows; OK if none were refused.
  const absl::Status& refused() const { return refused_; }

 private:
  struct NamedValue {
    std::string_view name;
    Value (Verbs::*get)();
  };
  static const Verb kVerbs[24];
  static const NamedValue kValues[9];

  Tickerplant& plant() { return *service_.tickerplant_; }
  absl::Status CheckRight(const Verb& verb) const;
  bool MaySee(std::string_view value) const;
  absl::Status HasRowsOfThisMap(std::string_view feed, bool again);

  absl::StatusOr<Value> Withheld(absl::StatusOr<Value> answer) const;

  // Verbs.
  absl::StatusOr<Value> Stage(const Verb& verb, Args args);
  absl::StatusOr<Value> SubscribePlain(Args args) { return Subscribe(args, {}); }
  absl::StatusOr<Value> SubscribeNumbered(Args args);
  absl::StatusOr<Value> Subscribe(Args args, Subscription how);
  absl::StatusOr<Value> Feed(Args args);
  absl::StatusOr<Value> Feeds(Args);
  absl::StatusOr<Value> Window(Args args);
  absl::StatusOr<Value> Log(Args args);
  absl::StatusOr<Value> Logs(Args);
  absl::StatusOr<Value> Chain(Args args);
  absl::StatusOr<Value> EndDay(Args);
  absl::StatusOr<Value> AddPublisher(Args args);
  absl::StatusOr<Value> AddCloser(Args args);
  absl::StatusOr<Value> Closed(Args args);
  absl::StatusOr<Value> Stats(Args) { return service_.Stats(); }
  absl::StatusOr<Value> UpstreamStats(Args) { return Withheld(service_.UpstreamStats()); }
  absl::StatusOr<Value> ReplicaStats(Args) { return Withheld(service_.ReplicaStats()); }
  absl::StatusOr<Value> Shard(Args) { return AnswerOf(plant().shard_id()); }
  absl::StatusOr<Value> SayAlive(Args);
  absl::StatusOr<Value> Replicate(Args args);
  absl::StatusOr<Value> ReplicaAcked(Args args);
  absl::StatusOr<Value> ActivityOfToday(Args) { return service_.ActivityOfToday(access_); }

  // Values.
  Value PublishedCount();
  Value LoggedCount();
  Value LogPath();
  Value LogHandle();
  Value Cuts();
  Value Date();
  Value Tables();
  Value Subscriptions();
  Value Version();

  TickerplantService& service_;
  wire::Connection& sender_;
  const security::Access access_;
  bool has_staged_ = false;
  std::string asked_feed_;
  bool claims_ = false;
  absl::Status refused_;
};

}  // namespace tickstack::tickerplant
