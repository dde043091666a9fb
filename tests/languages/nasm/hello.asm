; Adds the numbers on standard input, each below ten and on a line of its own.
global _start

section .bss
input:  resb 4096

section .data
text:   db "Σ = "
tens:   db "0"
ones:   db "0"
        db " ✓", 10
length: equ $ - text

section .text
_start:
        xor     eax, eax                ; read(0, input, 4096)
        xor     edi, edi
        mov     rsi, input
        mov     edx, 4096
        syscall
        mov     ecx, eax
        xor     eax, eax
.next:  test    ecx, ecx
        jz      .show
        dec     ecx
        movzx   ebx, byte [input + rcx]
        sub     ebx, '0'
        jb      .next                   ; the end of a line
        add     eax, ebx
        jmp     .next
.show:  xor     edx, edx
        mov     ebx, 10
        div     ebx
        add     [tens], al
        add     [ones], dl
        mov     eax, 1                  ; write(1, text, length)
        mov     edi, 1
        mov     rsi, text
        mov     edx, length
        syscall
        mov     eax, 60                 ; exit(0)
        xor     edi, edi
        syscall
