#pragma once

// An authenticator for tests: lets users in by their names, at once and with any password.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "security/user_rights.h"
#include "wire/authenticator.h"

namespace tickstack::security {

class UsersForTest final : public wire::Authenticator {
 public:
  explicit UsersForTest(std::map<std::string, Grants> grants) {
    for (auto& [name, granted] : grants) {
      rights_[name] = std::make_shared<UserRights>(name, std::move(granted));
    }
  }

  void Check(wire::Login login, Verdict verdict) override {
    const auto found = rights_.find(login.user);
    verdict(found == rights_.end() ? nullptr : found->second);
  }

 private:
  std::map<std::string, std::shared_ptr<UserRights>> rights_;
};

}  // namespace tickstack::security
