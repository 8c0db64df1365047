#include "base/printable.h"

#include <fmt/format.h>

namespace tickstack {

std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) {
      printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      printable += c == '\\' ? "\\\\" : std::string(1, c);
    }
  }
  return printable;
}

}  // namespace tickstack
