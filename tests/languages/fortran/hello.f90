program hello
  implicit none
  integer :: total, value, status
  total = 0
  do
    read (*, *, iostat=status) value
    if (status /= 0) exit
    total = total + value
  end do
  print '(A, I0, A)', 'Σ = ', total, ' ✓'
end program hello
