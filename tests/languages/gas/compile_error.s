        nonsense %eax
