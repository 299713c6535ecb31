#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "reforward/plan.h"
#include "reforward/simulate.h"
#include "reforward/trace.h"

namespace reforward {

/// The JSON forms (docs/trace-format.md, docs/plan-format.md). Reading throws
/// FormatError in one sentence for text that is not JSON, is truncated, is of
/// another kind ("format": "reforward-trace" / "reforward-plan") or version,
/// lacks a field, or breaks an invariant (`validate`). Reading what was written
/// gives an equal structure, times included.
std::string to_json(const Trace& trace);
std::string to_json(const Plan& plan);
std::string to_json(const Timeline& timeline);
Trace trace_from_json(std::string_view text);
Plan plan_from_json(std::string_view text);

/// Files. A missing or unreadable file is an InputError; writing goes through
/// write_file.
Trace read_trace(const std::filesystem::path& path);
Plan read_plan(const std::filesystem::path& path);
void write_trace(const std::filesystem::path& path, const Trace& trace);
void write_plan(const std::filesystem::path& path, const Plan& plan);

/// Writes the whole file or nothing: to a temporary name beside it, flushed,
/// then renamed. Throws InputError if the place cannot be written.
void write_file(const std::filesystem::path& path, std::string_view contents);
/// Throws what write_file would throw for this place, and leaves nothing there:
/// for asking before long work rather than after it.
void check_writable(const std::filesystem::path& path);

}  // namespace reforward
