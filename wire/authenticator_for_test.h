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
  bool current = true;
};

// Lets one user in, at once.
class OneUser final : public Authenticator {
 public:
  OneUser(std::string user, std::string password)
      : user_(std::move(user)), password_(std::move(password)) {}
  void Check(Login login, Verdict verdict) override {
    const bool right = login.user == user_ && login.password == password_;
    verdict(right ? std::make_shared<RightsForTest>() : nullptr);
  }

 private:
  const std::string user_, password_;
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
