global _start
_start: nonsense eax
