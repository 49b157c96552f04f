// The file of measured schedules. Reading trusts nothing: people merge such
// files and edit them.
#include "flashc/Compiler/Tuned.h"
#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"
#include "flashc/Support/Error.h"
#include "flashc/Support/File.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace flashc;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFormat("flashc-tuned-1");

static json::Value entryToJSON(const TunedEntry &entry) {
  const TuneKey &key = entry.key;
  return json::Object{{"arch", key.arch},
                      {"gpu", key.gpu},
                      {"sram", key.sram},
                      {"alignment", key.alignment},
                      {"head_dim", key.headDim},
                      {"value_head_dim", key.valueHeadDim},
                      {"dtype", key.dtype},
                      {"mask", key.mask},
                      {"score", key.score},
                      {"kv_lengths", key.kvLengths},
                      {"length_class", key.lengthClass},
                      {"compiler", key.compiler},
                      {"schedule", entry.schedule},
                      {"problem", entry.problem},
                      {"milliseconds", entry.milliseconds},
                      {"model_milliseconds", entry.modelMilliseconds}};
}

static bool entryFromJSON(const json::Value &value, TunedEntry &entry,
                          json::Path path) {
  TuneKey &key = entry.key;
  json::ObjectMapper map(value, path);
  return map && map.map("arch", key.arch) && map.map("gpu", key.gpu) &&
         map.map("sram", key.sram) && map.map("alignment", key.alignment) &&
         map.map("head_dim", key.headDim) &&
         map.map("value_head_dim", key.valueHeadDim) &&
         map.map("dtype", key.dtype) && map.map("mask", key.mask) &&
         map.map("score", key.score) && map.map("kv_lengths", key.kvLengths) &&
         map.map("length_class", key.lengthClass) &&
         map.map("compiler", key.compiler) &&
         map.map("schedule", entry.schedule) &&
         map.map("problem", entry.problem) &&
         map.map("milliseconds", entry.milliseconds) &&
         map.map("model_milliseconds", entry.modelMilliseconds);
}

static bool listFromJSON(const json::Value &value,
                         std::vector<TunedEntry> &list, json::Path path) {
  std::string format;
  json::ObjectMapper map(value, path);
  if (!map || !map.map("format", format))
    return false;
  if (format != kFormat) {
    path.field("format").report("expected flashc-tuned-1");
    return false;
  }
  const json::Array *entries = value.getAsObject()->getArray("entries");
  if (!entries) {
    path.field("entries").report("expected array");
    return false;
  }
  for (auto [i, entry] : llvm::enumerate(*entries))
    if (!entryFromJSON(entry, list.emplace_back(),
                       path.field("entries").index(i)))
      return false;
  return true;
}

llvm::Expected<TunedSchedules> TunedSchedules::parse(llvm::StringRef text,
                                                     llvm::StringRef path) {
  TunedSchedules result;
  result.source = fmt::format("'{}'", path.str());
  auto bad = [&](std::string why) {
    return makeError("{} is no file of tuned schedules: {}; make it with "
                     "flashc-bench --tune --tuned=FILE",
                     result.source, why);
  };
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return bad(llvm::toString(value.takeError()));
  json::Path::Root root("the file");
  if (!listFromJSON(*value, result.list, root))
    return bad(llvm::toString(root.getError()));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  for (auto [i, entry] : llvm::enumerate(result.list)) {
    llvm::Expected<Schedule> schedule = parseSchedule(entry.schedule, &context);
    if (!schedule)
      return bad(
          fmt::format("entry {}: {}", i, llvm::toString(schedule.takeError())));
    for (size_t other = 0; other < i; ++other)
      if (result.list[other].key == entry.key)
        return bad(fmt::format("entries {} and {} are both for {}", other, i,
                               entry.key.describe()));
  }
  return result;
}

llvm::Expected<TunedSchedules> TunedSchedules::read(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code error = buffer.getError())
    return makeError("cannot read '{}': {}; give a file that flashc-bench "
                     "--tune made",
                     path.str(), error.message());
  return parse((*buffer)->getBuffer(), path);
}

llvm::Expected<const TunedEntry *>
TunedSchedules::find(const TuneKey &key) const {
  const TunedEntry *found = nullptr;
  for (const TunedEntry &entry : list) {
    TuneKey other = entry.key;
    if (key.gpu.empty())
      other.gpu.clear();
    if (!(other == key))
      continue;
    if (found)
      return makeError("{} has schedules of '{}' and of '{}' for {}; say which "
                       "GPU is meant (--gpu=NAME)",
                       source, found->key.gpu, entry.key.gpu, key.describe());
    found = &entry;
  }
  return found;
}

void TunedSchedules::put(TunedEntry entry) {
  auto old = llvm::find_if(
      list, [&](const TunedEntry &other) { return other.key == entry.key; });
  if (old == list.end())
    list.push_back(std::move(entry));
  else
    *old = std::move(entry);
}

json::Value TunedSchedules::toJSON() const {
  json::Array entries;
  for (const TunedEntry &entry : list)
    entries.push_back(entryToJSON(entry));
  return json::Object{{"format", kFormat}, {"entries", std::move(entries)}};
}

llvm::Error TunedSchedules::write(llvm::StringRef path) const {
  return writeFile(path, {llvm::formatv("{0:2}\n", toJSON()).str()});
}
