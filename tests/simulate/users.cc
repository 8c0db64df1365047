#include "tests/simulate/users.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "security/user_rights.h"
#include "wire/client.h"
#include "wire/protocol.h"

namespace tickstack::simulate {

namespace protocol = wire::protocol;

namespace {

constexpr std::string_view kStranger = "stranger";

class Users final : public wire::Authenticator {
 public:
  void Check(wire::Login login, Verdict verdict) override {
    std::shared_ptr<security::UserRights>& rights = rights_[login.user];
    if (rights == nullptr) {
      const bool only_publishes =
          login.user == "feed" || login.user == "repeater" || login.user == kStranger;
      security::Grants grants = only_publishes ? security::Grants() : security::AllGrants();
      grants.publish.all = true;
      rights = std::make_shared<security::UserRights>(login.user, std::move(grants));
    }
    verdict(rights);
  }

 private:
  std::map<std::string, std::shared_ptr<security::UserRights>> rights_;
};

class Stranger final : public Program, public wire::ClientHandler {
 public:
  Stranger(Process& process, const StackOptions& options, std::vector<std::string> names,
           std::string& stolen)
      : names_(std::move(names)),
        stolen_(stolen),
        clock_(process.clock()),
        random_(process.world().random()),
        timer_(process.loop()),
        client_(process.loop(), options.tickerplant, Options(), this) {}

  void OnConnected(wire::Connection&) override { TryLater(); }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { timer_.Cancel(); }

 private:
  static wire::ClientOptions Options() {
    wire::ClientOptions options;
    options.user = kStranger;
    return options;
  }

  void TryLater() {
    timer_.Once(std::chrono::milliseconds(random_.Between(5, 200)), [this] { AskRows(); });
  }

  // A name without logged rows is free. The same tickerplant answers what follows.
  void AskRows() {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr) return;
    const std::string& name = OneOf(random_, names_);
    connection->Call(
        Value::List({Value::String(protocol::kFeed), Value::Symbol(name)}),
        [this, name](const absl::StatusOr<Value>& answer) {
          const bool is_rows = answer.ok() && answer->is_dict() && answer->values().is(Type::kLong);
          if (!is_rows) return TryLater();
          const std::span<const int64_t> rows = answer->values().span<int64_t>();
          const bool is_owned = std::ranges::any_of(rows, [](int64_t n) { return n > 0; });
          is_owned ? Use(name, rows[0]) : TryLater();
        });
  }

  void Use(const std::string& name, int64_t trades) {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr) return;
    std::vector<Value> request;
    if (random_.OneIn(3)) {
      request.push_back(Value::Symbol(protocol::kNumberedUpd));
      request.push_back(Value::Symbol(name));
      request.push_back(Value::Long(trades));
      request.push_back(Value::Symbol("trade"));
      request.push_back(EncodeRows("trade", kStranger, {{clock_.NowNs(), "A", 1, 1}}, 0, 1));
    } else {
      request.push_back(Value::String(protocol::kFeed));
      request.push_back(Value::Symbol(name));
      request.push_back(Value::Symbol(kStranger));
      if (random_.OneIn(2)) request.push_back(Value::Symbol(protocol::kTakeover));
    }
    const bool claims = request.front().is_string();
    connection->Call(Value::List(std::move(request)),
                     [this, name, claims](const absl::StatusOr<Value>& answer) {
                       if (answer.ok()) stolen_ = (claims ? "the name " : "a row of ") + name;
                       TryLater();
                     });
  }

  const std::vector<std::string> names_;
  std::string& stolen_;
  const Clock& clock_;
  Random& random_;
  wire::Timer timer_;
  wire::Client client_;
};

}  // namespace

std::shared_ptr<wire::Authenticator> MakeUsers() { return std::make_shared<Users>(); }

absl::StatusOr<std::unique_ptr<Program>> StartStranger(Process& process,
                                                       const StackOptions& options,
                                                       std::vector<std::string> names,
                                                       std::string& stolen) {
  return std::make_unique<Stranger>(process, options, std::move(names), stolen);
}

}  // namespace tickstack::simulate
