global main
extern printf

section .data
format: db "%d", 10, 0

section .text
main:   push    rbp
        mov     edi, format
        mov     esi, 42
        xor     eax, eax
        call    printf
        xor     eax, eax
        pop     rbp
        ret

section .note.GNU-stack noalloc noexec nowrite progbits
