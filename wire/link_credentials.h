#pragma once

// The credentials with which this process logs in at other processes of its stack.

#include <functional>
#include <optional>

#include "wire/handshake.h"

namespace tickstack::wire {

// Sets what links (ClientOptions::is_link) log in with. The function is called for each login, so
// that the caller decides where the secret is kept. Call it before other threads start.
void SetLinkCredentials(std::function<Credentials()> credentials);

// Returns the credentials; nullopt if none were set. Threads: any.
std::optional<Credentials> LinkCredentials();

}  // namespace tickstack::wire
