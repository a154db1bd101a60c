// How the host part (mgpu_trace_host.hpp) writes its files: JSON strings, the .npy header, and files that are
// there as a whole or not at all. C++17, includes nothing of CUDA.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace mgpu_trace {

// Empty where all is well; else the place and what is wrong there.
struct Status {
  std::string message;
  bool ok() const noexcept { return message.empty(); }
};

namespace host {

inline Status fault(const std::string& place, const std::string& what) { return {place + ": " + what}; }

inline Status file_fault(const std::string& path, const char* doing) {
  return fault(path, std::string(doing) + ": " + std::strerror(errno));
}

// Length of the UTF-8 character that begins at text[i]; 0 where there is none.
inline size_t utf8_length(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned first = byte(i);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(i + 1) < 0xa0) || (first == 0xf0 && byte(i + 1) < 0x90);
  const bool outside = (first == 0xed && byte(i + 1) > 0x9f) || (first == 0xf4 && byte(i + 1) > 0x8f);
  return overlong || outside ? 0 : length;
}

// A JSON string in UTF-8; bytes that are no UTF-8 become U+FFFD.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (byte == '"' || byte == '\\') {
      (out += '\\') += text[i];
    } else if (byte < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(byte));
      out += escaped;
    } else {
      out.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + '"';
}

// The first bytes of a .npy file, version 1: a 1-d array of little-endian uint32.
inline std::string npy_header(size_t n_words) {
  std::string text =
      "{'descr': '<u4', 'fortran_order': False, 'shape': (" + std::to_string(n_words) + ",), }";
  const size_t before = 10;  // magic, version, and the length of the text
  text.resize((before + text.size() + 64) / 64 * 64 - before - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

// A file that is there as a whole or not at all: written under another name, then renamed.
class NewFile {
 public:
  NewFile(std::string path, int64_t unique)
      : path_(std::move(path)), temporary_(path_ + ".tmp" + std::to_string(unique)) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (exists_) std::remove(temporary_.c_str());
  }

  [[nodiscard]] Status write(const std::string& head, const void* data = "", size_t n_bytes = 0) {
    std::FILE* file = std::fopen(temporary_.c_str(), "wbx");
    if (file == nullptr) return file_fault(path_, "cannot create");
    exists_ = true;
    const bool written = std::fwrite(head.data(), 1, head.size(), file) == head.size() &&
                         std::fwrite(data, 1, n_bytes, file) == n_bytes && std::fflush(file) == 0;
    const int why = errno;
    if (std::fclose(file) == 0 && written) return {};
    if (!written) errno = why;
    return file_fault(path_, "cannot write");
  }

  [[nodiscard]] Status publish() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return file_fault(path_, "cannot replace");
    exists_ = false;
    return {};
  }

 private:
  std::string path_;
  std::string temporary_;
  bool exists_ = false;
};

// What a file holds now, so that it can be had again when what replaces it is not to stay. The copy lies on the
// disk beforehand: putting it back needs no room.
class OldFile {
 public:
  OldFile(std::string path, int64_t unique) : path_(std::move(path)), copy_(path_, unique) {}

  [[nodiscard]] Status keep() {
    std::FILE* file = std::fopen(path_.c_str(), "rb");
    if (file == nullptr) return errno == ENOENT ? Status{} : file_fault(path_, "cannot replace");
    std::string text;
    char part[4096];
    while (const size_t n = std::fread(part, 1, sizeof part, file)) text.append(part, n);
    const bool whole = std::ferror(file) == 0;
    Status status = whole ? Status{} : file_fault(path_, "cannot replace");
    static_cast<void>(std::fclose(file));
    if (status.ok()) status = copy_.write(text);
    there_ = status.ok();
    return status;
  }

  void put_back() {
    if (!there_ || !copy_.publish().ok()) std::remove(path_.c_str());
  }

 private:
  std::string path_;
  NewFile copy_;
  bool there_ = false;
};

}  // namespace host

}  // namespace mgpu_trace
