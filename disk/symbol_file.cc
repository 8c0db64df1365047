#include "disk/symbol_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_buffer.h"
#include "base/printable.h"
#include "base/status.h"
#include "disk/kdb_format.h"
#include "disk/stored_file.h"

namespace tickstack::disk {
namespace {

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool HoldsNames(std::span<const std::byte> file) {
  const std::string_view text = AsText(file);
  if (!text.starts_with(kSerialisedTag) || file.size() < kSerialisedVectorBytes) return false;
  const auto type = static_cast<Type>(file[2]);
  return type == Type::kSymbol || (type == Type::kList && file.size() == kSerialisedVectorBytes);
}

absl::StatusOr<StoredNames> ParseStoredNames(std::span<const std::byte> file) {
  if (!HoldsNames(file)) return DataLoss("byte 0: expected a symbol vector (ff 01 0b)");
  const auto count = LoadLittle<int32_t>(file.data() + 4);
  StoredNames names;
  names.text = file.subspan(kSerialisedVectorBytes);
  while (!names.text.empty() && names.text.back() != std::byte{0}) {
    names.text = names.text.first(names.text.size() - 1);
    ++names.torn_bytes;
  }
  names.count = static_cast<size_t>(std::ranges::count(names.text, std::byte{0}));
  if (count < 0 || static_cast<size_t>(count) > names.count) {
    return DataLoss("byte 4: {} names, but the file has {}", count, names.count);
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> ReadColumnNames(const std::string& path,
                                                         const ChecksumFile* checksums) {
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<const StoredFile> file,
                      StoredFile::Open(path, checksums));
  TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file->All());
  const absl::StatusOr<StoredNames> stored = ParseStoredNames(bytes.span());
  if (!stored.ok()) return Annotate(stored.status(), path);
  if (stored->torn_bytes > 0) {
    return DataLoss("{}: byte {}: the last name has no end", path, bytes.size());
  }
  std::vector<std::string> names;
  StringSet seen;
  std::string_view text = AsText(stored->text);
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find('\0'));
    const size_t offset = bytes.size() - text.size();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos) {
      return DataLoss("{}: byte {}: '{}' is no name of a column", path, offset, Printable(name));
    }
    if (!seen.emplace(name).second) {
      return DataLoss("{}: byte {}: column {} is named twice", path, offset, Printable(name));
    }
    names.emplace_back(name);
    text.remove_prefix(name.size() + 1);
  }
  return names;
}

SymbolDomain::SymbolDomain(std::string name, std::vector<SymbolId> ids)
    : name_(std::move(name)), ids_(std::move(ids)) {
  for (size_t i = 0; i < ids_.size() && positions_are_ids_; ++i) {
    positions_are_ids_ = ids_[i] == static_cast<SymbolId>(i);
  }
}

std::optional<SymbolId> SymbolDomain::IdAt(int64_t position) const {
  if (position == kNullPosition) return kNullSymbol;
  if (static_cast<uint64_t>(position) >= ids_.size()) return std::nullopt;
  return ids_[static_cast<size_t>(position)];
}

absl::StatusOr<size_t> SymbolDomains::Add(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(path + std::string(kDomainChecksumSuffix)));
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<const StoredFile> file,
                      StoredFile::Open(path, checksums.get(), true));
  TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file->All());
  const absl::StatusOr<StoredNames> stored = ParseStoredNames(bytes.span());
  if (!stored.ok()) return Annotate(stored.status(), path);
  const auto known = static_cast<size_t>(symbols_.size());
  if (stored->count > static_cast<size_t>(INT32_MAX) - known) {
    return ResourceExhausted("{}: {} names, and {} in other domains: at most {} are numbered", path,
                             stored->count, known, INT32_MAX);
  }
  std::vector<SymbolId> ids(stored->count);
  symbols_.InternAll(stored->text, ids);
  domains_.push_back(std::make_unique<SymbolDomain>(std::string(BaseName(path)), std::move(ids)));
  return stored->torn_bytes;
}

const SymbolDomain* SymbolDomains::Find(std::string_view name) const {
  for (const std::unique_ptr<SymbolDomain>& domain : domains_) {
    if (domain->name() == name) return domain.get();
  }
  return nullptr;
}

}  // namespace tickstack::disk
