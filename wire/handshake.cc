#include "wire/handshake.h"

namespace tickstack::wire {

Credentials ParseCredentials(std::string_view text) {
  Credentials credentials;
  // Capabilities are 1 to 6; names and passwords are text. A control character at the end is the
  // capability.
  if (!text.empty() && static_cast<unsigned char>(text.back()) < ' ') {
    credentials.capability = static_cast<uint8_t>(text.back());
    text.remove_suffix(1);
  }
  const size_t colon = text.find(':');
  credentials.user = text.substr(0, colon);
  if (colon != std::string_view::npos) credentials.password = text.substr(colon + 1);
  return credentials;
}

std::string FormatCredentials(const Credentials& credentials) {
  std::string text = credentials.user + ":" + credentials.password;
  text.push_back(static_cast<char>(credentials.capability));
  text.push_back('\0');
  return text;
}

}  // namespace tickstack::wire
