local t = nil
print(t.x)
