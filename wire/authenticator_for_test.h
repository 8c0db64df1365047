#pragma once

// Authenticators for tests.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/authenticator.h"

namespace tickstack::wire {

class RightsForTest final : public ClientRights {
 public:
  bool is_current() const override { return current; }
  absl::Status MayReadMetrics(std::string_view) const override {
    return metrics ? absl::OkStatus() : absl::PermissionDeniedError("access: no metrics");
  }
  PlaceClass place() const override { return place_class; }
  bool PublishesAnything() const override { return publishes; }
  bool QueriesAnything() const override { return queries; }
  bool current = true;
  bool metrics = true;
  PlaceClass place_class = PlaceClass::kUser;
  bool publishes = true;
  bool queries = true;
};

// Lets everybody in with the password `pw`, at once: `stack` as the stack, `boss` as an
// administrator, `feed` with the right to publish, and others without rights.
class UsersByName final : public Authenticator {
 public:
  void Check(Login login, Verdict verdict) override {
    if (login.password != "pw") return verdict(nullptr);
    auto rights = std::make_shared<RightsForTest>();
    rights->publishes = rights->queries = login.user == "feed";
    if (login.user == "boss") rights->place_class = PlaceClass::kAdministrator;
    if (login.user == "stack") rights->place_class = PlaceClass::kStack;
    verdict(std::move(rights));
  }
};

// Lets one user in, at once.
class OneUser final : public Authenticator {
 public:
  OneUser(std::string user, std::string password, bool metrics = true)
      : user_(std::move(user)), password_(std::move(password)), metrics_(metrics) {}
  void Check(Login login, Verdict verdict) override {
    const bool right = login.user == user_ && login.password == password_;
    if (!right) return verdict(nullptr);
    auto rights = std::make_shared<RightsForTest>();
    rights->metrics = metrics_;
    verdict(std::move(rights));
  }

 private:
  const std::string user_, password_;
  const bool metrics_;
};

// Keeps the verdicts until the test gives them.
class WaitingAuthenticator final : public Authenticator {
 public:
  void Check(Login login, Verdict verdict) override {
    logins.push_back(std::move(login));
    verdicts.push_back(std::move(verdict));
  }
  std::vector<Login> logins;
  std::vector<Verdict> verdicts;
};

}  // namespace tickstack::wire
