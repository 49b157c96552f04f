//===- KernelFile.cpp - Manifest and code side by side --------------------===//
//
// In: a kernel or the path of its manifest. A manifest that was replaced
// without its code, or code without its manifest, is refused by digest.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/KernelFile.h"
#include "flashc/Support/Error.h"
#include "flashc/Support/File.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace flashc;
namespace json = llvm::json;
namespace path = llvm::sys::path;

static std::string digestOf(llvm::StringRef bytes) {
  return llvm::toHex(llvm::BLAKE3::hash<16>(llvm::arrayRefFromStringRef(bytes)),
                     /*LowerCase=*/true);
}

/// Beside `manifest`.
static std::string besides(const std::string &manifest, llvm::StringRef name) {
  llvm::SmallString<128> out = path::parent_path(manifest);
  path::append(out, name);
  return out.str().str();
}

llvm::Error flashc::writeKernelFiles(const std::string &manifest,
                                     const KernelImage &image) {
  if (path::extension(manifest) != ".json")
    return makeError("cannot write the manifest to '{}': its name must end in "
                     ".json; choose another",
                     manifest);
  json::Object code;
  for (auto [kind, bytes] :
       {std::pair("ptx", &image.ptx), {"cubin", &image.cubin}}) {
    if (bytes->empty())
      continue;
    std::string name = path::stem(manifest).str() + "." + kind;
    if (llvm::Error error = writeFile(besides(manifest, name), {*bytes}))
      return error;
    code[kind] = json::Object{{"file", name}, {"digest", digestOf(*bytes)}};
  }
  json::Value value = image.manifest.toJSON();
  json::Object &object = *value.getAsObject();
  object["name"] = image.name;
  object["arch"] = image.arch;
  object["assembler"] = image.assembler;
  object["code"] = std::move(code);
  return writeFile(manifest, {llvm::formatv("{0:2}\n", value).str()});
}

static llvm::Expected<std::string> readFile(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return makeError("cannot read '{}': {}; ship the manifest with its code "
                     "beside it",
                     file, buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

/// One entry of "code", if it is there.
static llvm::Error readCode(const std::string &manifest,
                            const json::Object &code, llvm::StringRef kind,
                            std::string &out) {
  const json::Object *entry = code.getObject(kind);
  if (!entry)
    return llvm::Error::success();
  std::optional<llvm::StringRef> name = entry->getString("file"),
                                 digest = entry->getString("digest");
  if (!name || !digest || path::filename(*name) != *name)
    return makeError("'{}': {} needs a file beside the manifest and a digest; "
                     "take what flashc --manifest writes",
                     manifest, kind.str());
  llvm::Expected<std::string> bytes = readFile(besides(manifest, *name));
  if (!bytes)
    return bytes.takeError();
  if (digestOf(*bytes) != *digest)
    return makeError("'{}' has the digest {}, but the manifest '{}' says {}; "
                     "take both from one run of flashc",
                     besides(manifest, *name), digestOf(*bytes), manifest,
                     digest->str());
  out = std::move(*bytes);
  return llvm::Error::success();
}

llvm::Expected<KernelImage>
flashc::readKernelFiles(const std::string &manifest) {
  llvm::Expected<std::string> text = readFile(manifest);
  if (!text)
    return text.takeError();
  auto where = [&](llvm::Error error) {
    return makeError("'{}': {}", manifest, llvm::toString(std::move(error)));
  };
  llvm::Expected<json::Value> value = json::parse(*text);
  if (!value)
    return where(value.takeError());
  llvm::Expected<Manifest> parsed = Manifest::fromJSON(*value);
  if (!parsed)
    return where(parsed.takeError());
  const json::Object &object = *value->getAsObject();
  std::optional<llvm::StringRef> name = object.getString("name"),
                                 arch = object.getString("arch");
  const json::Object *code = object.getObject("code");
  if (!name || !arch || !code)
    return makeError("'{}' does not say name, arch and code; take the manifest "
                     "that flashc --manifest writes",
                     manifest);
  KernelImage image{name->str(),
                    arch->str(),
                    "",
                    "",
                    std::move(*parsed),
                    object.getString("assembler").value_or("").str()};
  if (llvm::Error error = readCode(manifest, *code, "ptx", image.ptx))
    return std::move(error);
  if (llvm::Error error = readCode(manifest, *code, "cubin", image.cubin))
    return std::move(error);
  if (image.ptx.empty() && image.cubin.empty())
    return makeError("'{}' names no code; take the manifest that flashc "
                     "--manifest writes",
                     manifest);
  return image;
}
