#include <utility>
#include <vector>

#include "base/status.h"
#include "disk/nested_items.h"
#include "disk/stored_value.h"

namespace tickstack::disk {
namespace {

// Stores where each item begins: 8 bytes per item, which has at least 2 bytes.
class SerialisedList : public NestedItems {
 public:
  SerialisedList(const StoredFile& column, std::vector<uint64_t> offsets,
                 std::shared_ptr<const SymbolDomains> domains)
      : column_(column), offsets_(std::move(offsets)), domains_(std::move(domains)) {}

  absl::StatusOr<Value> At(uint64_t row) const override {
    TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, column_.All());
    const uint64_t begin = offsets_[row];
    absl::StatusOr<Value> value =
        DecodeStored(bytes.span().subspan(begin, offsets_[row + 1] - begin), domains_.get(), begin);
    if (!value.ok()) return Annotate(value.status(), column_.path());
    return value;
  }
  absl::Status Pin(std::vector<PinnedBytes>&) const override { return absl::OkStatus(); }
  uint64_t rows() const { return offsets_.size() - 1; }

 private:
  const StoredFile& column_;
  const std::vector<uint64_t> offsets_;
  const std::shared_ptr<const SymbolDomains> domains_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const NestedItems>> OpenSerialisedList(
    const StoredFile& column, std::shared_ptr<const SymbolDomains> domains, uint64_t* rows) {
  TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, column.All());
  absl::StatusOr<std::vector<uint64_t>> offsets = ItemOffsets(bytes.span());
  if (!offsets.ok()) return Annotate(offsets.status(), column.path());
  *rows = offsets->size() - 1;
  return std::make_unique<SerialisedList>(column, *std::move(offsets), std::move(domains));
}

}  // namespace tickstack::disk
