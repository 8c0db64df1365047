#include <utility>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/kdb_format.h"
#include "disk/nested_items.h"

namespace tickstack::disk {
namespace {

class OldNested : public NestedItems {
 public:
  OldNested(const StoredFile& column, const ColumnLayout& layout,
            std::unique_ptr<const StoredFile> elements)
      : column_(column), layout_(layout), elements_(std::move(elements)) {}

  absl::StatusOr<Value> At(uint64_t row) const override {
    TS_ASSIGN_OR_RETURN(const uint64_t begin, row == 0 ? uint64_t{0} : End(row - 1));
    TS_ASSIGN_OR_RETURN(const uint64_t end, End(row));
    if (begin > end) {
      return DataLoss("{}: byte {}: row {} ends at element {}, the row before at {}",
                      column_.path(), OffsetOf(row), row, end, begin);
    }
    TS_ASSIGN_OR_RETURN(const PinnedBytes elements, elements_->InPlace());
    const size_t width = WidthOf(layout_.type);
    TS_RETURN_IF_ERROR(elements_->Verify(begin * width, end * width));
    const auto bytes = elements.span().subspan(begin * width, (end - begin) * width);
    return Value::Vector(layout_.type, ByteBuffer(bytes));
  }
  absl::Status Pin(std::vector<PinnedBytes>& held) const override {
    TS_ASSIGN_OR_RETURN(held.emplace_back(), elements_->InPlace());
    return absl::OkStatus();
  }

 private:
  uint64_t OffsetOf(uint64_t row) const { return layout_.data_offset + row * sizeof(int64_t); }

  absl::StatusOr<uint64_t> End(uint64_t row) const {
    TS_ASSIGN_OR_RETURN(const PinnedBytes ends, column_.InPlace());
    TS_RETURN_IF_ERROR(column_.Verify(OffsetOf(row), OffsetOf(row) + sizeof(int64_t)));
    const auto end = LoadLittle<int64_t>(ends.data() + OffsetOf(row));
    const uint64_t elements = elements_->bytes() / WidthOf(layout_.type);
    if (end < 0 || static_cast<uint64_t>(end) > elements) {
      return DataLoss("{}: byte {}: row {} ends at element {}, but {} has {}", column_.path(),
                      OffsetOf(row), row, end, elements_->path(), elements);
    }
    return static_cast<uint64_t>(end);
  }

  const StoredFile& column_;
  const ColumnLayout layout_;
  const std::unique_ptr<const StoredFile> elements_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const NestedItems>> OpenOldNested(const StoredFile& column,
                                                                 const ColumnLayout& layout,
                                                                 const ChecksumFile* checksums) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<const StoredFile> elements,
                      StoredFile::Open(column.path() + kCompanionSuffix, checksums));
  return std::make_unique<OldNested>(column, layout, std::move(elements));
}

}  // namespace tickstack::disk
