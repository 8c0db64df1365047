#include "disk/plain_symbols.h"

#include <cstdint>
#include <mutex>

#include "base/status.h"

namespace tickstack::disk {

absl::Status NumberPlainSymbols(const SymbolDomains& domains, std::span<const std::byte> text,
                                std::span<SymbolId> ids) {
  // One writer at a time, for the tables of all databases: such columns are rare.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // Domains are immutable in what they have. The table only grows, which its readers allow for.
  auto& symbols = const_cast<SymbolTable&>(domains.symbols());
  const auto known = static_cast<size_t>(symbols.size());
  if (ids.size() > static_cast<size_t>(INT32_MAX) - known) {
    return ResourceExhausted("{} names, and {} before them: at most {} are numbered", ids.size(),
                             known, INT32_MAX);
  }
  if (symbols.InternAll(text, ids)) return absl::OkStatus();
  return DataLoss("{} bytes, which are not {} names", text.size(), ids.size());
}

}  // namespace tickstack::disk
