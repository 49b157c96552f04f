#!/usr/bin/env bash
# Install what building and testing flashc needs on Debian 12, from Debian's own
# packages (LLVM 22 is in its security updates). Does nothing, quickly, where
# everything is there. Needs root or sudo only if something is missing.
set -euo pipefail

packages=(
  cmake ninja-build ccache git python3
  clang-22 lld-22 libclang-rt-22-dev          # compiler, linker, sanitizers
  gcc g++                                     # another compiler, for the tests of the public headers
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools
  libc6-dev libstdc++-12-dev
  zlib1g-dev libzstd-dev                      # linked into the release binaries
  libcurl4-openssl-dev libedit-dev libxml2-dev libz3-dev # asked for by LLVM's CMake files
  libfmt-dev catch2
  python3-venv                                # torch, for the tests of integrations/torch
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "bootstrap: ${missing[*]} are not installed and this is not root; install them or sudo" >&2
    exit 1
  }
  sudo=(sudo)
fi
echo "bootstrap: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
for package in "${missing[@]}"; do
  apt-cache show "$package" > /dev/null 2>&1 || {
    echo "bootstrap: apt knows no package $package, but flashc needs Debian 12's packages and its security updates, where" \
      "LLVM 22 is; add 'deb http://deb.debian.org/debian-security bookworm-security main' to /etc/apt/sources.list" >&2
    exit 1
  }
done
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
