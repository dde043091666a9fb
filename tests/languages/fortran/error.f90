program failing
  stop 3
end program failing
