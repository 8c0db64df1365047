#pragma once

// Records of the topic PREFIX.schemas, which tell consumers without q what is in the other topics.
//
//   key    SUBJECT/HASH; the subject of a topic is TOPIC-value, as in Confluent's schema registry
//   value  JSON: {"subject":...,"schema":HASH,"table":...,"key_columns":0,
//          "columns":[{"name":...,"type":...},...],"avro":{...}}
//
// HASH is the header `schema` of the topic's records, and the types are q's letters. The topic is
// compacted, so it has one record for each schema that a topic ever had. The last record of a
// subject is its current schema.

#include <string>
#include <string_view>

#include "table/schema.h"

namespace tickstack::bridge {

struct SchemaRecord {
  std::string key;
  std::string value;
  friend bool operator==(const SchemaRecord&, const SchemaRecord&) = default;
};

// Returns 16 hexadecimal digits, the hash FNV-1a of `name type,name type,...` with q's letters.
std::string SchemaHash(const Schema& schema);

// Returns the record of a table's schema. `topic` is the topic with the table's rows.
SchemaRecord SchemaRecordOf(std::string_view topic, const Schema& schema);

// Returns the subject in a key: what is before its last `/`.
std::string_view SubjectOf(std::string_view key);

}  // namespace tickstack::bridge
