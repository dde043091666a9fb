program broken
  implicit none
  x = 1
end program broken
