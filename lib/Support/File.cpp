//===- File.cpp - Write a file by temporary file and rename ---------------===//
//
// Used for every file that a tool writes. llvm::writeToOutput does nearly this,
// but it aborts the process when the disk is full.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/File.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashc;

static llvm::Error cannotWrite(llvm::StringRef path, const std::string &why) {
  return makeError("cannot write '{}': {}; choose a path in a folder that "
                   "exists, can be written and has room",
                   path.str(), why);
}

/// Close the stream and say what went wrong on the way, if anything did.
static std::error_code writeParts(llvm::raw_fd_ostream &os,
                                  llvm::ArrayRef<llvm::StringRef> parts) {
  for (llvm::StringRef part : parts)
    os << part;
  os.flush();
  std::error_code error = os.error();
  os.clear_error(); // else the destructor aborts
  return error;
}

static llvm::Error writeDirectly(llvm::StringRef path,
                                 llvm::ArrayRef<llvm::StringRef> parts) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error)
    error = writeParts(os, parts);
  return error ? cannotWrite(path, error.message()) : llvm::Error::success();
}

llvm::Error flashc::writeFile(llvm::StringRef path,
                              llvm::ArrayRef<llvm::StringRef> parts) {
  using namespace llvm::sys;
  fs::file_status status;
  if (!fs::status(path, status) && fs::exists(status) &&
      !fs::is_regular_file(status))
    return writeDirectly(path, parts);
  llvm::Expected<fs::TempFile> temp =
      fs::TempFile::create(path + ".tmp-%%%%%%%%");
  if (!temp)
    return cannotWrite(path, llvm::toString(temp.takeError()));
  std::error_code error;
  {
    llvm::raw_fd_ostream os(temp->FD, /*shouldClose=*/false);
    error = writeParts(os, parts);
  }
  if (error) {
    llvm::consumeError(temp->discard());
    return cannotWrite(path, error.message());
  }
  if (llvm::Error failed = temp->keep(path))
    return cannotWrite(path, llvm::toString(std::move(failed)));
  return llvm::Error::success();
}
