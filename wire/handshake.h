#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "wire/transport.h"

namespace tickstack::wire {

// The login that a client sends first: `user:password`, a capability byte, NUL. Old clients leave
// out the capability, and some the colon.
struct Credentials {
  std::string user;
  std::string password;
  uint8_t capability = 0;
};

// Overwrites a text that has a password, and empties it.
void Wipe(std::string& text);

inline constexpr size_t kMaxHandshakeBytes = 4096;

// Parses a login; `text` is everything before the NUL.
Credentials ParseCredentials(std::string_view text);
// Returns the credentials with capability and NUL, ready to send.
std::string FormatCredentials(const Credentials& credentials);

// `error` is asio::error::eof if the server refused without a reason, and
// asio::error::connection_refused if it sent one (kRefusedByte), which is `refusal`.
using LoggedIn = absl::AnyInvocable<void(const Transport::ErrorCode& error, uint8_t capability,
                                         const std::string& refusal)>;

// Does the client's side of the handshake on a connected transport. `done` gets the capability that
// the server answered. Closing the transport ends the handshake.
void LogIn(std::shared_ptr<Transport> transport, const Credentials& credentials, LoggedIn done);

}  // namespace tickstack::wire
