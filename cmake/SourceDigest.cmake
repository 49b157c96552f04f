# cmake -D list=FILE -D output=HEADER -P SourceDigest.cmake: the SHA-256 of the
# files that FILE names, one a line.
file(STRINGS ${list} files)
set(all "")
foreach(path IN LISTS files)
  file(SHA256 ${path} digest)
  get_filename_component(name ${path} NAME)
  string(APPEND all "${name} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 32 digest)
file(WRITE ${output} "#define FLASHC_SOURCE_DIGEST \"${digest}\"\n")
