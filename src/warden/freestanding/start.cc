// SPDX-License-Identifier: Apache-2.0
// The first instructions of a freestanding program, in place of libc's.
//
// libc asks the processor about itself when it starts, over a hundred times. In a virtual machine
// each of these CPUID instructions goes to the hypervisor: together a third of a millisecond, for
// every sandbox, to choose a memcpy. Here nothing is asked.
#include <asm/prctl.h>
#include <elf.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "base/sys/raw.h"

// C++ forbids calling main by its name.
int program(int argc, char** argv) asm("main");

extern "C" {
// Given by the linker.
extern const Elf64_Ehdr __ehdr_start;
extern const Elf64_Dyn _DYNAMIC[];
using Initializer = void (*)();
extern const Initializer __init_array_start[];
extern const Initializer __init_array_end[];

[[gnu::used, noreturn]] void gb_start(std::uintptr_t* stack);
}

// The kernel enters with the arguments on the stack (System V ABI for x86-64, 3.4.1).
asm(".pushsection .text\n"
    ".globl _start\n"
    ".hidden _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call gb_start\n"
    "  hlt\n"
    ".popsection\n");

namespace {

using glovebox::sys::raw;

// What the compiler expects at %fs: itself at 0, the stack protector's canary at 0x28.
struct ThreadBlock {
  ThreadBlock* self;
  std::uintptr_t unused[4];
  std::uintptr_t canary;
};
static_assert(offsetof(ThreadBlock, canary) == 0x28);
ThreadBlock thread_block;

// The linker left addresses as if we had been loaded at zero.
void relocate(std::uintptr_t base) {
  const Elf64_Rela* relocations = nullptr;
  std::size_t size = 0;
  for (const Elf64_Dyn* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RELA) {
      relocations = reinterpret_cast<const Elf64_Rela*>(base + entry->d_un.d_ptr);
    } else if (entry->d_tag == DT_RELASZ) {
      size = entry->d_un.d_val;
    }
  }
  for (std::size_t i = 0; i < size / sizeof(Elf64_Rela); ++i) {
    if (ELF64_R_TYPE(relocations[i].r_info) != R_X86_64_RELATIVE) {
      (void)raw(SYS_exit_group, 126);  // Nothing else is in a program without libraries.
    }
    *reinterpret_cast<std::uintptr_t*>(base + relocations[i].r_offset) =
        base + static_cast<std::uintptr_t>(relocations[i].r_addend);
  }
}

// Protects what only relocations had to write to.
void protect_relocated(std::uintptr_t base) {
  const auto* const headers = reinterpret_cast<const Elf64_Phdr*>(base + __ehdr_start.e_phoff);
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (headers[i].p_type == PT_GNU_RELRO) {
      const std::uintptr_t begin = (base + headers[i].p_vaddr) & ~std::uintptr_t{4095};
      const std::uintptr_t end =
          (base + headers[i].p_vaddr + headers[i].p_memsz) & ~std::uintptr_t{4095};
      (void)raw(SYS_mprotect, begin, end - begin, PROT_READ);
    }
  }
}

void set_canary(const std::uintptr_t* auxiliary) {
  for (; auxiliary[0] != AT_NULL; auxiliary += 2) {
    if (auxiliary[0] == AT_RANDOM) {
      // With a zero byte, so that no text that overflows can hold it.
      thread_block.canary =
          *reinterpret_cast<const std::uintptr_t*>(auxiliary[1]) & ~std::uintptr_t{0xff};
    }
  }
  thread_block.self = &thread_block;
  (void)raw(SYS_arch_prctl, ARCH_SET_FS, &thread_block);
}

}  // namespace

void gb_start(std::uintptr_t* stack) {
  const auto base = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  relocate(base);
  const auto argc = static_cast<int>(stack[0]);
  auto** const argv = reinterpret_cast<char**>(stack + 1);
  std::uintptr_t* auxiliary = stack + 1 + argc + 1;
  while (*auxiliary != 0) {
    ++auxiliary;  // Over the environment.
  }
  set_canary(auxiliary + 1);
  protect_relocated(base);
  for (const Initializer* each = __init_array_start; each != __init_array_end; ++each) {
    (*each)();
  }
  const int status = program(argc, argv);
  for (;;) {
    (void)raw(SYS_exit_group, status);
  }
}
