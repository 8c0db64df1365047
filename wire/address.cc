#include "wire/address.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/status.h"

namespace tickstack::wire {
namespace {

constexpr std::string_view kTlsScheme = "tcps://";

absl::StatusOr<Address> ParseOne(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.substr(0, kUnix.size()) == kUnix) {
    const std::string_view path = text.substr(kUnix.size());
    if (path.empty() || path == "@" || path.size() > 107) {
      return InvalidArgument("address '{}': expected unix:PATH with a path of 1 to 107 bytes",
                             text);
    }
    return Address{"", 0, std::string(path)};
  }
  const bool tls = text.starts_with(kTlsScheme);
  const std::string_view where = text.substr(tls ? kTlsScheme.size() : 0);
  const size_t colon = where.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? where : where.substr(colon + 1);
  std::string_view host =
      colon == std::string_view::npos ? std::string_view() : where.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      port > 65535) {
    return InvalidArgument(
        "address '{}': expected HOST:PORT with a port of 0 to 65535, tcps://HOST:PORT for TLS, or "
        "unix:PATH",
        text);
  }
  return Address{host.empty() ? "127.0.0.1" : std::string(host), static_cast<uint16_t>(port), "",
                 tls};
}

}  // namespace

std::string Address::ToString() const {
  std::string text =
      is_unix() ? "unix:" + unix_path : fmt::format("{}{}:{}", tls ? kTlsScheme : "", host, port);
  for (const Address& other : others) text += "," + other.ToString();
  return text;
}

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  const size_t comma = text.find(',');
  TS_ASSIGN_OR_RETURN(Address address, ParseOne(text.substr(0, comma)));
  while (comma != std::string_view::npos) {
    text.remove_prefix(std::min(text.find(','), text.size()));
    if (text.empty()) break;
    text.remove_prefix(1);
    TS_ASSIGN_OR_RETURN(Address other, ParseOne(text.substr(0, text.find(','))));
    address.others.push_back(std::move(other));
  }
  return address;
}

}  // namespace tickstack::wire
