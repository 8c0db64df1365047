#include "wire/link_credentials.h"

#include <utility>

namespace tickstack::wire {
namespace {

std::function<Credentials()>& Source() {
  static auto* const source = new std::function<Credentials()>();
  return *source;
}

}  // namespace

void SetLinkCredentials(std::function<Credentials()> credentials) {
  Source() = std::move(credentials);
}

std::optional<Credentials> LinkCredentials() {
  const std::function<Credentials()>& source = Source();
  return source ? std::optional(source()) : std::nullopt;
}

}  // namespace tickstack::wire
