// Adds the numbers on standard input, with the C library.
        .globl  main
        .text
main:   push    %rbx
        push    %rbp
        sub     $24, %rsp
        xor     %ebx, %ebx
1:      mov     $input, %edi
        lea     12(%rsp), %rsi
        xor     %eax, %eax
        call    scanf
        cmp     $1, %eax
        jne     2f
        add     12(%rsp), %ebx
        jmp     1b
2:      mov     $output, %edi
        mov     %ebx, %esi
        xor     %eax, %eax
        call    printf
        xor     %eax, %eax
        add     $24, %rsp
        pop     %rbp
        pop     %rbx
        ret

        .data
input:  .string "%d"
output: .string "Σ = %d ✓\n"

        .section .note.GNU-stack, "", @progbits
