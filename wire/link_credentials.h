#pragma once

// The credentials with which this process logs in at other processes of its stack.

#include <functional>
#include <optional>
#include <string_view>

#include "wire/handshake.h"

namespace tickstack::wire {

// The name with which the processes of a stack log in to each other, unless they have credentials
// with another one. It tells a server without users that the connection is a link.
inline constexpr std::string_view kStackUser = "stack";

// Sets what links (ClientOptions::is_link) log in with. The function is called for each login, so
// that the caller decides where the secret is kept. Call it before other threads start.
void SetLinkCredentials(std::function<Credentials()> credentials);

// Returns the credentials; nullopt if none were set. Threads: any.
std::optional<Credentials> LinkCredentials();

}  // namespace tickstack::wire
