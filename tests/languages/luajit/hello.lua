local ffi = require("ffi")
local total = ffi.new("int64_t", 0)
for line in io.lines() do
  total = total + tonumber(line)
end
print("Σ = " .. tonumber(total) .. " ✓")
