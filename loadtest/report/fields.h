#pragma once

// Reads the fields of an untrusted JSON document. A wrong field is an error that names its place.
// The document keeps the first error, so a reader can get all fields one after another and check
// the status once.
//
//   FieldsDocument document("summary.json");
//   TS_RETURN_IF_ERROR(document.Parse(text));
//   const std::string name = document.root().Text("name");  // Empty if it is wrong.
//   ...
//   TS_RETURN_IF_ERROR(document.status());
//
// Threads: one owner.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tickstack::loadtest::report {

class FieldsDocument;

// One object of the document. Valid as long as the document.
class Fields {
 public:
  // Return a required field of that type.
  std::string Text(std::string_view key) const;
  double Number(std::string_view key, double min, double max) const;

  // Return an optional field: absent and null are the same, but a wrong type is an error.
  std::string TextOrEmpty(std::string_view key) const;
  bool Flag(std::string_view key) const;  // False if absent.
  std::optional<double> NumberOrNull(std::string_view key) const;
  // Returns an integer from 0 to below 2^63, or up to 2^53 if it is written like 1e6.
  std::optional<int64_t> CountOrNull(std::string_view key) const;
  Fields ObjectOrEmpty(std::string_view key) const;
  void EachObject(std::string_view key, const std::function<void(const Fields&)>& use) const;
  // Visits the entries of an object of objects, in the file's order.
  void EachEntry(std::string_view key,
                 const std::function<void(const std::string&, const Fields&)>& use) const;
  // Visits the entries of an object of texts. Numbers and flags are converted to texts.
  void EachText(std::string_view key,
                const std::function<void(const std::string&, const std::string&)>& use) const;
  // Visits an array of pairs of a number and a count; `use` returns false to reject a pair.
  void EachPair(std::string_view key, const std::function<bool(double, int64_t)>& use) const;

  // Sets the document's status to `FILE: PLACE.key: what`, unless it already has an error.
  void Fail(std::string_view key, std::string_view what) const;

 private:
  friend class FieldsDocument;
  Fields(FieldsDocument* document, const nlohmann::ordered_json* object, std::string place)
      : document_(document), object_(object), place_(std::move(place)) {}
  const nlohmann::ordered_json* Find(std::string_view key) const;  // nullptr if absent or null.
  void Mismatch(std::string_view key, const nlohmann::ordered_json& found,
                std::string_view expected) const;
  Fields Child(const nlohmann::ordered_json& found, std::string place) const;

  FieldsDocument* document_;
  const nlohmann::ordered_json* object_;  // nullptr: all fields are absent.
  std::string place_;
};

class FieldsDocument {
 public:
  // `name` is the file's name, for errors.
  explicit FieldsDocument(std::string name);
  ~FieldsDocument();
  FieldsDocument(const FieldsDocument&) = delete;
  FieldsDocument& operator=(const FieldsDocument&) = delete;

  // kDataLoss with the byte's position if it is not JSON, or not an object.
  absl::Status Parse(std::string_view text);
  Fields root();
  const absl::Status& status() const { return status_; }

 private:
  friend class Fields;
  std::string name_;
  std::unique_ptr<nlohmann::ordered_json> json_;
  absl::Status status_;
};

}  // namespace tickstack::loadtest::report
