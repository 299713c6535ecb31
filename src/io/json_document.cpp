#include "io/json_reader.h"

namespace reforward::io {

Json parse_document(std::string_view text, const std::string& format, int version) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    throw FormatError("This is not a whole JSON document; the file is truncated, damaged or of another kind than " +
                      format + ".");
  }
  const auto found = document.is_object() ? document.find("format") : document.end();
  if (!document.is_object() || found == document.end() || *found != format) {
    throw FormatError("This is not a file of the format " + format + "; give one that `reforward " +
                      (format == "reforward-trace" ? "trace" : "plan") + "` has written.");
  }
  const int has = Fields(document, "The file").get<int>("version");
  if (has != version) {
    throw FormatError("The file is of version " + std::to_string(has) + " of " + format +
                      ", and this program reads version " + std::to_string(version) + "; write it anew.");
  }
  return document;
}

}  // namespace reforward::io
