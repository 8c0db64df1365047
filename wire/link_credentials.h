#pragma once

// The credentials with which this process logs in at other processes of its stack.

#include <functional>
#include <optional>

#include "wire/handshake.h"

namespace tickstack::wire {

// Sets what links (ClientOptions::is_link) log in with. The function is called for each login, so
// that whoever keeps the secret decides where it lies. Threads: before others start.
void SetLinkCredentials(std::function<Credentials()> credentials);

// Returns the credentials; nullopt if none were set. Threads: any.
std::optional<Credentials> LinkCredentials();

}  // namespace tickstack::wire
