define(`input', translit(esyscmd(`cat'), `
', `+'))dnl
Σ = eval(input`'0) ✓
