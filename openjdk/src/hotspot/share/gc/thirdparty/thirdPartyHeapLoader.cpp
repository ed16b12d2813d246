/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapVM.hpp"
#include "runtime/arguments.hpp"
#include "runtime/java.hpp"
#include "runtime/os.hpp"
#include "utilities/defaultStream.hpp"
#include "utilities/ostream.hpp"

#include <dirent.h>
#include <dlfcn.h>

const ThirdPartyHeapPluginTable* ThirdPartyHeapLoader::_plugin = NULL;
ThirdPartyHeapPlan ThirdPartyHeapLoader::_plan;

static const char* const FilePrefix = "libmmtk_";
static const char* const FileSuffix = ".so";

// Long enough for a line that lists all options of a plugin.
static const size_t ErrorSize = 4 * K;

void ThirdPartyHeapLoader::exit_with_error(const char* format, ...) {
  va_list ap;
  va_start(ap, format);
  jio_fprintf(defaultStream::error_stream(), "Error: ");
  jio_vfprintf(defaultStream::error_stream(), format, ap);
  jio_fprintf(defaultStream::error_stream(), "\n");
  va_end(ap);
  vm_direct_exit(1);
}

void ThirdPartyHeapLoader::print_builds(const char* directory, outputStream* st) {
  DIR* dir = ::opendir(directory);
  const char* separator = "";
  if (dir != NULL) {
    while (struct dirent* entry = ::readdir(dir)) {
      const char* file = entry->d_name;
      const size_t length = strlen(file);
      const size_t prefix = strlen(FilePrefix);
      const size_t suffix = strlen(FileSuffix);
      if (length > prefix + suffix && strncmp(file, FilePrefix, prefix) == 0 &&
          strcmp(file + length - suffix, FileSuffix) == 0) {
        st->print("%s%.*s", separator, (int)(length - prefix - suffix), file + prefix);
        separator = ", ";
      }
    }
    ::closedir(dir);
  }
  if (*separator == '\0') {
    st->print("none");
  }
}

// A name with a slash is a path, any other the name of a build in the JDK.
void ThirdPartyHeapLoader::find(const char* name, char* path, size_t size) {
  if (name == NULL || *name == '\0') {
    exit_with_error("-XX:ThirdPartyHeapPlugin= is empty: give a build name or the path of a plugin");
  }
  char directory[JVM_MAXPATHLEN];
  jio_snprintf(directory, sizeof(directory), "%s/lib/mmtk", Arguments::get_java_home());
  if (strchr(name, '/') != NULL) {
    jio_snprintf(path, size, "%s", name);
  } else {
    jio_snprintf(path, size, "%s/%s%s%s", directory, FilePrefix, name, FileSuffix);
  }
  struct stat st;
  if (os::stat(path, &st) != 0) {
    char builds[ErrorSize];
    stringStream ss(builds, sizeof(builds));
    print_builds(directory, &ss);
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s: there is no %s; builds in this JDK: %s", name, path, builds);
  }
}

void ThirdPartyHeapLoader::load(const char* name) {
  char path[JVM_MAXPATHLEN];
  find(name, path, sizeof(path));

  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s is not a plugin: %s", name, ::dlerror());
  }
  const uint32_t* version = (const uint32_t*)::dlsym(library, THIRD_PARTY_HEAP_ABI_VERSION_SYMBOL);
  if (version == NULL) {
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s is not a plugin: %s has no symbol %s",
                    name, path, THIRD_PARTY_HEAP_ABI_VERSION_SYMBOL);
  }
  if (*version != THIRD_PARTY_HEAP_ABI_VERSION) {
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s has ABI version %u, this JVM expects %d: build JVM and plugin from one revision",
                    name, *version, THIRD_PARTY_HEAP_ABI_VERSION);
  }
  const ThirdPartyHeapEntry entry = (ThirdPartyHeapEntry)::dlsym(library, THIRD_PARTY_HEAP_ENTRY_SYMBOL);
  if (entry == NULL) {
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s is not a plugin: %s has no symbol %s",
                    name, path, THIRD_PARTY_HEAP_ENTRY_SYMBOL);
  }
  char error[ErrorSize] = "";
  _plugin = entry(ThirdPartyHeapVM::table(), error, sizeof(error));
  if (_plugin == NULL) {
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s does not fit this JVM: %s", name, error);
  }
  if (_plugin->size != sizeof(ThirdPartyHeapPluginTable)) {
    exit_with_error("-XX:ThirdPartyHeapPlugin=%s does not fit this JVM: its table has " UINT64_FORMAT " bytes, " SIZE_FORMAT " are expected",
                    name, (uint64_t)_plugin->size, sizeof(ThirdPartyHeapPluginTable));
  }
}

const ThirdPartyHeapPlan& ThirdPartyHeapLoader::configure(const char* options) {
  char error[ErrorSize] = "";
  _plan.size = sizeof(_plan);
  if (_plugin->configure(options, &_plan, error, sizeof(error)) != 0) {
    exit_with_error("%s", error);
  }
  return _plan;
}

const char* ThirdPartyHeapLoader::describe(char* buf, size_t size) {
  jio_snprintf(buf, size, "third-party heap, plan %s, plugin %s (%s)", _plan.name, _plugin->name, _plugin->version);
  return buf;
}
